//! Studies and their trials as cells, created one at a time as a matrix with one row, since a search has thousands.

use crate::diag::{Diagnostic, Place};
use crate::manifest::Node;

use super::super::Plan;
use super::super::assign::Assignment;
use super::super::planned::{PlannedCell, Resolver};
use super::super::references::too_large;
use super::searched::{StudyList, keys};
use super::{Domain, MOST_STUDIES, Point, Space};

/// Name (`train.save-to`) of the files with trials' weights.
const WEIGHTS: &str = "trial";

impl Plan {
    pub(in crate::plan) fn study(&self, study: usize) -> PlannedCell {
        let point = StudyList::first_point(&self.space_of(study));
        let matrix = self.searched.row(study, None, &point);
        Resolver::new(self, &matrix).cell(&vec![0; matrix.axes.len()])
    }

    /// The space of a study. Parameters keep their index; those of other studies never exist in it.
    pub fn space_of(&self, study: usize) -> Space {
        let study = self.searched.studies.get(study);
        let exist = study.map_or(&[][..], |study| study.exist.as_slice());
        let search = self.search.as_ref();
        let space = search.map(|search| {
            let exists = |index: usize| exist.get(index).is_some_and(|exists| *exists);
            search.space.restricted_to(exists)
        });
        space.unwrap_or_default()
    }

    /// Number of trials of a study: those of the search, or the points of its space if these are fewer.
    pub fn trials_of(&self, study: usize) -> usize {
        let trials = self.search.as_ref().map_or(0, |search| search.trials);
        let size = self.space_of(study).size();
        size.map_or(trials, |size| {
            usize::try_from(size).map_or(trials, |size| trials.min(size))
        })
    }

    /// Number of trials of the study that has the most.
    pub fn max_trials_per_study(&self) -> usize {
        let trials = (0..self.count).map(|study| self.trials_of(study));
        trials.max().unwrap_or(0)
    }

    /// Conditions of parameter `index`: names of a parameter or of axes, each with the values it must have.
    pub fn conditions(&self, index: usize) -> Vec<(String, Vec<String>)> {
        let Some(written) = self.searched.parameters.get(index) else {
            return Vec::new();
        };
        let on_parameter = written.parameter.when.iter().filter_map(|condition| {
            let other = &self.searched.parameters.get(condition.parameter)?.parameter;
            let Domain::Choice { texts, .. } = &other.domain else {
                return None;
            };
            let values = condition.choices.iter();
            let values = values.filter_map(|choice| texts.get(*choice).cloned());
            Some((other.name.clone(), values.collect()))
        });
        let on_axes = written.axes.iter().filter_map(|condition| {
            let axis = self.axes.get(condition.axis)?;
            let values = condition.values.iter().map(ToString::to_string);
            Some((axis.name.clone(), values.collect()))
        });
        on_parameter.chain(on_axes).collect()
    }

    /// A trial of a study as a cell, at a `point` of its space ([`Self::space_of`]). `label` is the value of its axis
    /// `trial` (`7`, `7-full`, `ensemble`); it is not hashed, so that the same point is the same cell.
    pub fn trial(&self, study: usize, label: &str, point: &Point) -> PlannedCell {
        let matrix = self.searched.row(study, Some(label), point);
        Resolver::new(self, &matrix).cell(&vec![0; matrix.axes.len()])
    }

    /// Lists the studies of a search.
    ///
    /// # Errors
    /// If there are more studies than a search may have.
    pub(in crate::plan) fn list_studies(&mut self) -> Result<(), Diagnostic> {
        let node = self.written.root.get("search");
        let Some(node) = node.filter(|_| self.search.is_some()) else {
            return Ok(());
        };
        if self.count > MOST_STUDIES {
            let found = format!("{} cells, each searched on its own", self.count);
            let most = format!("{MOST_STUDIES} studies");
            return Err(too_large(node.place, found, &most));
        }
        let weights = self.weights_of_trials();
        self.searched.list(&self.matrices, weights.as_ref());
        self.count_grid();
        Ok(())
    }

    /// For a grid without `trials`, sets the number of trials to the number of points of the largest study.
    fn count_grid(&mut self) {
        let sizes = (0..self.count).filter_map(|study| self.space_of(study).size());
        let most = usize::try_from(sizes.max().unwrap_or(0)).unwrap_or(usize::MAX);
        if let Some(search) = self.search.as_mut().filter(|search| search.trials == 0) {
            search.trials = most;
        }
    }

    /// The assignment of `train.save-to` with which every trial saves its weights; `None` if no ensemble needs them or
    /// the manifest sets it.
    fn weights_of_trials(&self) -> Option<Assignment> {
        let is_saved = self.written.root.at_path("train.save-to").is_some();
        let search = self.search.as_ref().filter(|search| search.ensemble > 0);
        search.filter(|_| !is_saved).map(|_| Assignment {
            path: keys(&["train", "save-to"]),
            node: Node::text(WEIGHTS, Place::default()),
        })
    }
}
