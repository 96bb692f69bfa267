//! Checks that HTML and Markdown of one report have the same headings, parts, tables, figures and images, in the same
//! order.

use super::subject::{Subject, Text};

/// Elements that one format of a template has and the other lacks.
pub(super) fn differences(subject: &Subject<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for page in subject.texts.iter().filter(|text| text.is_page) {
        let name = page.name.replace(".html", ".md");
        let other = subject.texts.iter().find(|text| text.name == name);
        let Some(other) = other.filter(|text| !text.is_page) else {
            found.push(format!("{name} is missing"));
            continue;
        };
        let (page, other) = (outline(page), outline(other));
        let first = page.iter().zip(&other).find(|(a, b)| a != b);
        match first {
            Some((a, b)) => found.push(format!("{name}: “{b}” where the page has “{a}”")),
            None if page.len() != other.len() => {
                let (all, own) = (page.len(), other.len());
                found.push(format!("{name}: {own} parts, and {all} of the page"));
            }
            None => {}
        }
    }
    found
}

/// The outline of a printed report: headings, collapsible parts, figures and images, from top to bottom.
fn outline(text: &Text) -> Vec<String> {
    if text.is_page {
        of_page(&text.whole)
    } else {
        of_markdown(&text.whole)
    }
}

fn of_page(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut is_figure, mut is_image) = (false, false);
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("<figure id=\"plot-") {
            found.push(format!("figure {}", rest.trim_end_matches("\">")));
            is_figure = true;
        } else if line == "<figure>" {
            is_figure = true;
            is_image = true;
        } else if line == "</figure>" {
            (is_figure, is_image) = (false, false);
        } else if let Some((title, _)) = inside(line, "<summary>", "</summary>") {
            found.push(format!("part {}", plain_html(title)));
        }
        let heading = ["h1", "h2", "h3", "h4", "h5"]
            .iter()
            .find_map(|tag| inside(line, &format!("<{tag}>"), &format!("</{tag}>")));
        if let Some((title, _)) = heading.filter(|_| !is_figure || is_image) {
            let what = if is_image { "image" } else { "heading" };
            found.push(format!("{what} {}", plain_html(title)));
        }
    }
    found
}

fn of_markdown(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut fence = String::new();
    for line in text.lines() {
        if !fence.is_empty() || line.starts_with("```") {
            let mark: String = line.chars().take_while(|c| *c == '`').collect();
            if fence.is_empty() {
                fence = mark;
            } else if line == fence {
                fence.clear();
            }
        } else if let Some((path, _)) = inside(line, "](plots/", ".svg)") {
            found.push(format!("figure {path}"));
        } else if let Some((title, _)) = inside(line, "![", "](samples/") {
            found.push(format!("image {}", plain_markdown(title)));
        } else if let Some((title, _)) = inside(line, "<summary>", "</summary>") {
            found.push(format!("part {}", plain_markdown(title)));
        } else if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim();
            found.push(format!("heading {}", plain_markdown(title)));
        }
    }
    found
}

/// The text between two marks, and the text after them.
fn inside<'t>(line: &'t str, begin: &str, end: &str) -> Option<(&'t str, &'t str)> {
    line.split_once(begin)?.1.split_once(end)
}

fn plain_html(text: &str) -> String {
    let letters = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
    ];
    let letters = letters.into_iter().chain([("&#x2f;", "/"), ("&amp;", "&")]);
    letters.fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn plain_markdown(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        out.extend(if letter == '\\' {
            letters.next()
        } else {
            Some(letter)
        });
    }
    out.replace("&lt;", "<").replace("&amp;", "&")
}
