//! Tables of trials: what their rows begin with.

use crate::report::sections::field::Field;
use crate::report::table::{Column, Entry};

use super::trials::{Search, Study, Trial};

/// A trial with its study.
pub(super) type OfStudy<'s, 'v, 'a> = (&'s Study<'v, 'a>, Trial<'v, 'a>);

/// Columns of the study, where there are several, and of the trial.
pub(super) fn of_trials<'f, 's: 'f, 'v: 'f, 'a: 'f, T: 'f>(
    search: &Search<'_, '_>,
    of: fn(&T) -> &OfStudy<'s, 'v, 'a>,
) -> Vec<Field<'f, T>> {
    let study = Field::text("study", move |item| of(item).0.name.clone());
    let trial = Field::new(Column::setting("trial"), move |item| {
        Entry::text(of(item).1.info.number.to_string())
    });
    let study = (search.studies.len() > 1).then_some(study);
    study.into_iter().chain([trial]).collect()
}

/// Rows about trials, each with the key of its cell.
pub(super) fn keyed<'v, 'a: 'v, T>(
    items: impl IntoIterator<Item = T>,
    trial: fn(&T) -> &Trial<'v, 'a>,
) -> Vec<(String, T)> {
    let keyed = |item: T| (trial(&item).cell.info.key.clone(), item);
    items.into_iter().map(keyed).collect()
}

/// Rows that are about no cell.
pub(super) fn plain<T>(items: impl IntoIterator<Item = T>) -> impl Iterator<Item = (String, T)> {
    items.into_iter().map(|item| (String::new(), item))
}
