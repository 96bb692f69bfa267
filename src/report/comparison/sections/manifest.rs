//! Differences between the manifests of both sides, line by line.

use similar::TextDiff;

use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::{Code, Section};

/// Number of equal lines shown around a difference.
const BESIDE: usize = 2;

messages! {
    two_manifests(path) = "The manifests as run differ ({path}); lines with − are of the side before, lines with + of the side after." | "Die Manifeste, wie ausgeführt, unterscheiden sich ({path}); Zeilen mit − gehören zur Seite vorher, Zeilen mit + zur Seite nachher.";
}

/// Differences between two manifests; `None` if both sides have the same manifest.
pub(super) fn section(scene: &Scene<'_>) -> Option<Section> {
    let (before, after) = (&scene.before.set.plan, &scene.after.set.plan);
    if before.manifest == after.manifest {
        return None;
    }
    let text = difference(&before.manifest, &after.manifest);
    Some(Section {
        paragraphs: vec![scene.words.two_manifests(&after.manifest_path)],
        code: Some(Code::of("diff", &text)),
        ..Section::titled("manifest", "Manifest")
    })
}

/// A diff of two texts: `-` for lines before, `+` for lines after, with some equal lines around.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let differences = TextDiff::from_slices(&old, &new);
    let (mut shown, mut end) = (Vec::new(), 0);
    for group in differences.grouped_ops(BESIDE) {
        for op in &group {
            if op.old_range().start > end {
                shown.push("…".to_owned());
            }
            end = op.old_range().end;
            let changes = differences.iter_changes(op);
            shown.extend(changes.map(|change| format!("{}{}", change.tag(), change.value())));
        }
    }
    shown.extend((end < old.len()).then(|| "…".to_owned()));
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn only_lines_beside_a_difference_are_shown() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh";
        let after = "a\nb\nc\nd\ne\nF\ng\nh";
        assert_eq!(difference(before, after), "…\n d\n e\n-f\n+F\n g\n h");
        assert_eq!(difference("", "x"), "+x");
    }
}
