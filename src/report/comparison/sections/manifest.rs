//! The manifests of both sides: one, or what differs between the two, line by line.

use crate::report::comparison::scene::Scene;
use crate::report::language::messages;
use crate::report::section::{Code, Section};

/// Lines beyond which two manifests are not held against each other line by line.
const LINES: usize = 3000;
/// Equal lines that stay beside a difference.
const BESIDE: usize = 2;

messages! {
    manifest_title() = "Manifest" | "Manifest";
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
        ..Section::titled("manifest", words.manifest_title())
    }
}

/// Lines of two texts: `-` before, `+` after, of equal ones those beside a difference.
fn difference(before: &str, after: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if old.len() > LINES || new.len() > LINES {
        let all = old.iter().map(|line| format!("-{line}"));
        return all
            .chain(new.iter().map(|line| format!("+{line}")))
            .collect::<Vec<_>>()
            .join("\n");
    }
    let lines = aligned(&old, &new);
    let is_near = |place: usize| {
        let window = place.saturating_sub(BESIDE)..(place + BESIDE + 1).min(lines.len());
        lines[window].iter().any(|(sign, _)| *sign != ' ')
    };
    let mut shown = Vec::new();
    let mut is_cut = false;
    for (place, (sign, line)) in lines.iter().enumerate() {
        if is_near(place) {
            shown.push(format!("{sign}{line}"));
            is_cut = false;
        } else if !is_cut {
            shown.push("…".to_owned());
            is_cut = true;
        }
    }
    shown.join("\n")
}

/// A longest common subsequence of lines, with what is left out of it on both sides.
fn aligned<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<(char, &'a str)> {
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for (i, one) in old.iter().enumerate().rev() {
        for (j, other) in new.iter().enumerate().rev() {
            common[i][j] = if one == other {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j, mut lines) = (0, 0, Vec::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            lines.push(('-', old[i]));
            i += 1;
        } else {
            lines.push(('+', new[j]));
            j += 1;
        }
    }
    lines
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
