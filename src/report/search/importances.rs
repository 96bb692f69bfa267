//! Which parameters matter for being among the best trials.

use crate::base::text::count;
use crate::base::units::human;
use crate::report::importance::{Importance, importance};
use crate::report::section::Section;
use crate::report::sections::field::{self, Field};
use crate::report::table::Entry;

use super::objective::Objective;
use super::trial::Ending;
use super::trials::{Search, Study};

/// A table for each study; none if importances cannot be computed.
pub(crate) fn importance_sections(search: &Search<'_, '_>) -> Vec<Section> {
    let studies = search.studies.iter();
    studies
        .filter_map(|study| of_study(search, study))
        .collect()
}

fn of_study(search: &Search<'_, '_>, study: &Study<'_, '_>) -> Option<Section> {
    let found: Vec<(&Objective, Importance)> = search
        .objectives
        .iter()
        .filter_map(|objective| {
            let done = study.trials_that_ended(Ending::Done);
            let losses =
                done.filter_map(|trial| Some((&trial.info.point, objective.loss(&trial)?)));
            let losses: Vec<_> = losses.collect();
            Some((objective, importance(&search.spec.space, &losses)?))
        })
        .collect();
    let (_, main) = found.first()?;
    let parameters = &search.spec.space.parameters;
    let mut places = search.used_parameters(&study.trials);
    places.sort_by(|a, b| main.shares[*b].total_cmp(&main.shares[*a]).then(a.cmp(b)));
    let formula = "PED-ANOVA: divergence of the best trials’ values from all, of their sum";
    let mut fields = vec![Field::text("parameter", |&place: &usize| {
        parameters[place].name.clone()
    })];
    fields.extend(found.iter().map(|(objective, importance)| {
        let heading = format!("for {}", objective.column);
        Field::derived(&heading, "%", formula, |&place| {
            let percent = importance.shares[place] * 100.0;
            Entry::value(percent, human(percent, 3))
        })
    }));
    let about = format!(
        "How far the values of the best {} lie apart from those of all {}, parameter by parameter.",
        count(main.best, "trial"),
        count(main.trials, "done trial")
    );
    let id = format!("search-importance{}", study.link());
    let title = format!("Importance of the parameters{}", study.suffix());
    let rows = places.into_iter().map(|place| (String::new(), place));
    let table = field::of_rows((&id, &title, about), &fields, rows);
    let rule = "PED-ANOVA (Watanabe, Bansal and Hutter 2023), the best being a tenth of the done trials but at least five. \
                It rates each parameter alone and misses interactions; and a sampler that concentrates on good \
                regions biases the importance towards what it tried most.";
    Some(Section::of_table_and_rule(table, rule, Vec::new()))
}
