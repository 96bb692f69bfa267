//! Renders diagnostics as text; no other module does.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::{Diagnostic, Severity, Source};

/// Draws one diagnostic, without a final line break.
pub(super) fn render(diagnostic: &Diagnostic, sources: &[Source], is_coloured: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = Group::with_title(level.primary_title(diagnostic.title.as_str()));
    for (number, source) in sources.iter().enumerate() {
        if let Some(snippet) = snippet(diagnostic, number, source) {
            group = group.element(snippet);
        }
    }
    for line in &diagnostic.help {
        group = group.element(Level::HELP.message(line.as_str()));
    }
    for line in &diagnostic.note {
        group = group.element(Level::NOTE.message(line.as_str()));
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
    source: &'a Source,
) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
    let mut labels = diagnostic
        .labels
        .iter()
        .filter(|label| label.place.source as usize == number)
        .peekable();
    labels.peek()?;
    let mut snippet = Snippet::source(source.text.as_str()).path(source.path.as_str());
    for label in labels {
        let kind = if label.is_primary {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        let annotation = kind.span(within(label.place.span(), &source.text));
        snippet = snippet.annotation(if label.text.is_empty() {
            annotation
        } else {
            annotation.label(label.text.as_str())
        });
    }
    Some(snippet)
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
