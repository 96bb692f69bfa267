//! SVG text: elements with escaped content, and numbers with two decimals so that equal plots give equal bytes.

use std::fmt::Write;

use super::{MAX_SERIES, STYLE};

/// Beginning of the line of a link, whose target is in the page that contains the plot.
const LINK: &str = "<a href=";
/// The line that ends a link.
const LINK_END: &str = "</a>";

/// A drawing under construction.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// Which point of a text (start, middle, end) is at the given position.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self {
            width,
            height,
            body: String::new(),
        }
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let (x1, y1, x2, y2) = (px(from.0), px(from.1), px(to.0), px(to.1));
        self.push(&format!(
            r#"<line class="{class}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}"/>"#
        ));
    }

    pub(crate) fn rectangle(&mut self, class: &str, at: (f64, f64), size: (f64, f64), about: &str) {
        let (x, y, width, height) = (px(at.0), px(at.1), px(size.0.max(0.0)), px(size.1));
        let about = title(about);
        self.push(&format!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}">{about}</rect>"#
        ));
    }

    pub(crate) fn polyline(&mut self, class: &str, points: &[(f64, f64)]) {
        let points = join(points);
        self.push(&format!(r#"<polyline class="{class}" points="{points}"/>"#));
    }

    pub(crate) fn polygon(&mut self, class: &str, points: &[(f64, f64)], about: &str) {
        let (points, about) = (join(points), title(about));
        self.push(&format!(
            r#"<polygon class="{class}" points="{points}">{about}</polygon>"#
        ));
    }

    pub(crate) fn text(&mut self, class: &str, at: (f64, f64), anchor: Anchor, text: &str) {
        let (x, y, text) = (px(at.0), px(at.1), escape(text));
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        self.push(&format!(
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>"#
        ));
    }

    /// Draws a marker that links to the element with the id `link`; a plain [`Svg::marker`] if `link` is empty.
    pub(crate) fn linked_marker(&mut self, series: usize, at: (f64, f64), about: &str, link: &str) {
        if link.is_empty() {
            return self.marker(series, at, about);
        }
        self.push(&format!("{LINK}\"#{}\">", escape(link)));
        self.marker(series, at, about);
        self.push(LINK_END);
    }

    /// Draws a marker in the shape and colour of series number `series`; `about` is its tooltip.
    pub(crate) fn marker(&mut self, series: usize, (x, y): (f64, f64), about: &str) {
        let class = format!("mark f{}", series % MAX_SERIES);
        let r = 5.0;
        let points: Vec<(f64, f64)> = match series % 4 {
            0 => {
                let (cx, cy, about) = (px(x), px(y), title(about));
                self.push(&format!(
                    r#"<circle class="{class}" cx="{cx}" cy="{cy}" r="4.8">{about}</circle>"#
                ));
                return;
            }
            1 => [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)]
                .map(|(a, b)| (x + a * r * 0.9, y + b * r * 0.9))
                .to_vec(),
            2 => vec![
                (x, y - r * 1.15),
                (x + r * 1.1, y + r * 0.85),
                (x - r * 1.1, y + r * 0.85),
            ],
            _ => vec![
                (x, y - r * 1.2),
                (x + r * 1.2, y),
                (x, y + r * 1.2),
                (x - r * 1.2, y),
            ],
        };
        self.polygon(&class, &points, about);
    }

    /// Draws a small dot; `about` is its tooltip.
    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), about: &str) {
        let (cx, cy, about) = (px(x), px(y), title(about));
        self.push(&format!(
            r#"<circle class="{class}" cx="{cx}" cy="{cy}" r="2.4">{about}</circle>"#
        ));
    }

    /// Ends the drawing; `about` is the title and `described` the description for screen readers.
    pub(crate) fn finish(self, about: &str, described: &str) -> String {
        let (width, height) = (px(self.width), px(self.height));
        let (about, described) = (escape(about), escape(described));
        format!(
            "<svg class=\"plot\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{about}</title>\n<desc>{described}</desc>\n{}</svg>\n",
            self.body
        )
    }

    fn push(&mut self, element: &str) {
        self.body.push_str(element);
        self.body.push('\n');
    }
}

/// The background of a plot that is a separate file.
const PAPER: &str = "<rect class=\"paper\" x=\"0\" y=\"0\" width=\"100%\" height=\"100%\"/>\n";

/// Converts a plot for a page into a separate file: adds the style rules that it uses and a background, removes links
/// into the page.
pub(crate) fn standalone(drawing: &str) -> String {
    let Some(end) = drawing.find(">\n") else {
        return drawing.to_owned();
    };
    let (head, body) = drawing.split_at(end + 2);
    let lines = body.split_inclusive('\n');
    let lines = lines.filter(|line| !line.starts_with(LINK) && !line.starts_with(LINK_END));
    let body: String = std::iter::once(PAPER).chain(lines).collect();
    let is_used = |rule: &&str| {
        let class = rule
            .strip_prefix(".plot .")
            .and_then(|rest| rest.split(' ').next());
        class.is_none_or(|class| body.contains(class))
    };
    let style: String = STYLE.split_inclusive('\n').filter(is_used).collect();
    format!("{head}<style>\n{style}</style>\n{body}")
}

/// Approximate width of a text in pixels, an upper estimate, since the font is unknown.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

fn title(about: &str) -> String {
    let title = || format!("<title>{}</title>", escape(about));
    (!about.is_empty()).then(title).unwrap_or_default()
}

fn join(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (x, y) in points {
        let space = if text.is_empty() { "" } else { " " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{space}{},{}", px(*x), px(*y));
    }
    text
}

fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" {
        "0".to_owned()
    } else {
        text.to_owned()
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::testing::assert_contains;

    #[test]
    fn text_cannot_become_markup() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("tick", (0.0, -0.001), Anchor::Start, "<script>\"&");
        let text = svg.finish("a \"b\"", "<c>");
        assert_contains(&text, "&lt;script&gt;&quot;&amp;");
        assert_contains(&text, "y=\"0\"");
        assert!(text.contains("<title>a &quot;b&quot;</title>\n<desc>&lt;c&gt;</desc>"));
    }

    #[test]
    fn a_marker_leads_to_its_row_on_the_page_and_nowhere_in_a_file() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.linked_marker(0, (1.0, 1.0), "a", "decision-1");
        let page = svg.finish("x", "y");
        assert!(page.contains("<a href=\"#decision-1\">\n<circle") && page.contains("</a>\n"));
        let file = standalone(&page);
        assert!(file.contains("<circle") && !file.contains("<a ") && !file.contains("</a>"));
    }

    #[test]
    fn a_file_of_its_own_has_its_style() {
        let text = standalone(&Svg::new(10.0, 20.0).finish("x", "y"));
        assert!(
            text.starts_with("<svg ") && text.contains("<style>") && text.ends_with("</svg>\n")
        );
    }
}
