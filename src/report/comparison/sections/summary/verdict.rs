//! The verdict over all cells, below the summary.

use crate::base::text::capitalised;
use crate::compare::{MatrixJudgement, Verdict};
use crate::report::comparison::scene::Scene;

use super::is_one;

/// The verdict over all cells, and how the cells' own are distributed.
pub(crate) fn verdict(scene: &Scene<'_>) -> Vec<String> {
    let matrix = scene.comparison.matrix.as_ref();
    let mut sentences: Vec<String> = matrix
        .filter(|_| !is_one(scene))
        .map(|matrix| of_matrix(scene, matrix))
        .into_iter()
        .collect();
    sentences.push(format!("{}.", capitalised(&counts(scene))));
    sentences
}

fn of_matrix(scene: &Scene<'_>, matrix: &MatrixJudgement) -> String {
    let words = scene.words;
    let mut verdict = vec![words.verdict(&matrix.verdict, Some(&matrix.ratio))];
    verdict.extend(words.why(&matrix.verdict, matrix.detectable));
    words.matrix_sentence(
        words.count(matrix.cells),
        words.ratio(matrix.ratio.value),
        scene.across(words.ends(&matrix.ratio)),
        words.p_value(matrix.p),
        words.count(matrix.permutations.0 as usize),
        verdict.join("; "),
    )
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
