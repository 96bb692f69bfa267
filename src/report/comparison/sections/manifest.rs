//! The manifests of both sides: one, or what differs between the two, line by line.

use similar::TextDiff;

use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::{Code, Section};

/// Equal lines that stay beside a difference.
const BESIDE: usize = 2;

messages! {
    one_manifest(path) = "Both sides are of one manifest, {path}, as run." | "Beide Seiten stammen aus einem Manifest, {path}, wie ausgeführt.";
    two_manifests(path) = "The manifests as run differ ({path}); lines with − are of the side before, lines with + of the side after." | "Die Manifeste, wie ausgeführt, unterscheiden sich ({path}); Zeilen mit − gehören zur Seite vorher, Zeilen mit + zur Seite nachher.";
}

/// The manifest, or the difference of two.
pub(super) fn section(scene: &Scene<'_>) -> Section {
    let words = scene.words;
    let (before, after) = (&scene.before.set.plan, &scene.after.set.plan);
    let path = &after.manifest_path;
    let (sentence, code) = if before.manifest == after.manifest {
        (words.one_manifest(path), Code::of("toml", &after.manifest))
    } else {
        let text = difference(&before.manifest, &after.manifest);
        (words.two_manifests(path), Code::of("diff", &text))
    };
    Section {
        paragraphs: vec![sentence],
        code: Some(code),
        ..Section::titled("manifest", "Manifest")
    }
}

/// Lines of two texts: `-` before, `+` after, of equal ones those beside a difference.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let differences = TextDiff::from_slices(&old, &new);
    let (mut shown, mut end) = (Vec::new(), 0);
    for group in differences.grouped_ops(BESIDE) {
        for op in &group {
            // Lines between two groups are left out.
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
