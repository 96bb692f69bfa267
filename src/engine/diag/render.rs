//! Renders diagnostics as text; no other module renders them.
//!
//! Quoted text can come from anywhere, so characters that a terminal would interpret are shown as their codes.

use std::borrow::Cow;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Severity, Source};
use crate::base::text::{escape_control, escape_control_crlf_to_lf};

/// Renders one diagnostic, without a final line break.
pub(super) fn render(diagnostic: &Diagnostic, sources: &[Source], is_coloured: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let texts: Vec<Cow<'_, str>> = sources.iter().map(drawable).collect();
    let mut group =
        Group::with_title(level.primary_title(escape_control_crlf_to_lf(&diagnostic.title)));
    for (number, source) in sources.iter().enumerate() {
        if let Some(snippet) = snippet(diagnostic, number, &source.path, &texts[number]) {
            group = group.element(snippet);
        }
    }
    for line in &diagnostic.help {
        group = group.element(Level::HELP.message(escape_control_crlf_to_lf(line)));
    }
    for line in &diagnostic.note {
        group = group.element(Level::NOTE.message(escape_control_crlf_to_lf(line)));
    }
    let renderer = if is_coloured {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    renderer.render(&[group])
}

fn snippet<'a>(
    diagnostic: &'a Diagnostic,
    number: usize,
    path: &'a str,
    text: &'a str,
) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut labels = diagnostic
        .labels
        .iter()
        .filter(|label| label.place.source as usize == number)
        .peekable();
    labels.peek()?;
    let mut snippet = Snippet::source(text).path(escape_control(path));
    for label in labels {
        let kind = if label.is_primary {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let annotation = kind.span(within(label.place.span(), text));
        snippet = snippet.annotation(if label.text.is_empty() {
            annotation
        } else {
            annotation.label(escape_control_crlf_to_lf(&label.text))
        });
    }
    Some(snippet)
}

/// The source text with the control characters U+0080 to U+009F replaced by `·`, which has as many bytes in UTF-8, so
/// that positions stay valid.
fn drawable(source: &Source) -> Cow<'_, str> {
    let is_late_control = |letter: char| matches!(letter, '\u{80}'..='\u{9f}');
    if source.text.contains(is_late_control) {
        Cow::Owned(source.text.replace(is_late_control, "·"))
    } else {
        Cow::Borrowed(&source.text)
    }
}

/// The span, clipped to the text and to character boundaries, so that rendering cannot fail.
fn within(span: std::ops::Range<usize>, text: &str) -> std::ops::Range<usize> {
    let mut start = span.start.min(text.len());
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Place;

    #[test]
    fn nothing_that_a_terminal_acts_on_is_drawn() {
        let source = Source {
            path: "a\u{1b}[2J.toml".to_owned(),
            text: "x = \"\u{1b}[2J\u{9b}2J\u{202e}\"\n".to_owned(),
        };
        let hostile = "\u{1b}[31m\u{9b}2J\r\n";
        let diagnostic = Diagnostic::error(hostile)
            .at(Place::new(0, &(0..1)), hostile)
            .help(hostile)
            .note(hostile);
        let drawn = render(&diagnostic, &[source], false);
        let is_line_end = |letter: char| letter == '\n';
        let mut letters = drawn.chars().filter(|letter| !is_line_end(*letter));
        assert!(
            letters.all(|letter| escape_control(&letter.to_string()).len() == letter.len_utf8()),
            "{drawn}"
        );
        assert!(drawn.contains("error: \\u{1b}[31m\\u{9b}2J"), "{drawn}");
    }
}
