//! Which parameters matter for being among the best trials.

use crate::base::text::count;
use crate::base::units::human;
use crate::report::importance::{Importance, importance};
use crate::report::judged::Judged;
use crate::report::number::Provenance;
use crate::report::table::Entry;

use super::objective::Objective;
use super::shown::Shown;
use super::trials::{Ending, Search, Study};

/// A table for each study; none where nothing can be said.
pub(crate) fn judged(search: &Search<'_, '_>) -> Vec<Judged> {
    let studies = search.studies.iter();
    studies
        .filter_map(|study| of_study(search, study))
        .collect()
}

fn of_study(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<Judged> {
    let found: Vec<(&Objective, Importance)> = search
        .objectives
        .iter()
        .filter_map(|objective| {
            let done = study.ended(Ending::Done);
            let losses =
                done.filter_map(|trial| Some((&trial.info.point, objective.loss(&trial)?)));
            let losses: Vec<_> = losses.collect();
            Some((objective, importance(&search.spec.space, &losses)?))
        })
        .collect();
    let (_, main) = found.first()?;
    let parameters = &search.spec.space.parameters;
    let mut places = search.used(&study.trials);
    places.sort_by(|a, b| main.shares[*b].total_cmp(&main.shares[*a]).then(a.cmp(b)));
    let derived = Provenance::Derived(
        "PED-ANOVA: divergence of the best trials’ values from all, of their sum".into(),
    );
    let mut shown =
        Shown::<usize>::new().words("parameter", |&place| parameters[place].name.clone());
    for (objective, importance) in &found {
        let heading = format!("for {}", objective.column);
        shown = shown.number(&heading, "%", &derived, |&place| {
            let percent = importance.shares[place] * 100.0;
            Entry::value(percent, human(percent, 3))
        });
    }
    let about = format!(
        "How far the values of the best {} lie apart from those of all {}, parameter by parameter.",
        count(main.best, "trial"),
        count(main.trials, "done trial")
    );
    let id = format!("search-importance{}", study.link());
    let title = format!("Importance of the parameters{}", study.suffix());
    let table = shown.table((&id, &title, about), &places, |_| "");
    let rule = "PED-ANOVA (Watanabe, Bansal and Hutter 2023), the best being a tenth of the done trials but at least five. \
                It speaks of each parameter alone: that two matter together, it does not see; and a sampler that looks \
                where it is good lends importance to what it looked at.";
    Some(Judged::new(table, rule, Vec::new()))
}
