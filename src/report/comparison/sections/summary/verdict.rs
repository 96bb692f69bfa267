//! The verdict over all cells, below the summary.

use crate::base::text::capitalised;
use crate::compare::{MatrixJudgement, Verdict};
use crate::report::comparison::scene::Scene;

use super::is_one;

/// The verdict over all cells, and how the cells' own are distributed.
pub(super) fn verdict(scene: &Scene<'_>) -> Vec<String> {
    let mut points: Vec<String> = Vec::new();
    if let Some(matrix) = scene.comparison.matrix.as_ref().filter(|_| !is_one(scene)) {
        points.extend(matrix_words(scene, matrix));
    }
    points.push(capitalised(&scene.words.see_cells(counts(scene))));
    points
}

fn matrix_words(scene: &Scene<'_>, matrix: &MatrixJudgement) -> [String; 2] {
    let words = scene.words;
    let mean = format!(
        "{} ({})",
        words.ratio(matrix.ratio.value),
        words.ends(&matrix.ratio)
    );
    let verdict = words.verdict(&matrix.verdict, Some(&matrix.ratio));
    let why = words.why(&matrix.verdict, matrix.detectable);
    let verdict = [verdict]
        .into_iter()
        .chain(why)
        .collect::<Vec<_>>()
        .join("; ");
    let (permutations, is_all) = matrix.permutations;
    let (p, count) = (words.p_value(matrix.p), words.count(permutations as usize));
    [
        words.matrix_sentence(words.count(matrix.cells), mean, verdict),
        if is_all {
            words.matrix_test_all(p, count)
        } else {
            words.matrix_test(p, count)
        },
    ]
}

pub(super) fn counts(scene: &Scene<'_>) -> String {
    let words = scene.words;
    let count = |is: fn(&Verdict) -> bool| {
        let cells = scene.comparison.cells.iter();
        words.count(cells.filter(|pair| is(&pair.judgement.verdict)).count())
    };
    words.by_cell(
        count(|verdict| matches!(verdict, Verdict::Faster)),
        count(|verdict| matches!(verdict, Verdict::Slower)),
        count(|verdict| matches!(verdict, Verdict::Same)),
        count(|verdict| !matches!(verdict, Verdict::Faster | Verdict::Slower | Verdict::Same)),
    )
}
