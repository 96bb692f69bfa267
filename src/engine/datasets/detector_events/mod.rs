//! Generated detector events: neutron captures and the light that reaches the detector's surface.
//!
//! `geometry.rs` places the voxels and computes the light that reaches each, `event.rs` draws one event. Every event has
//! its own random stream: events are generated in parallel, and a larger dataset begins with the events of a smaller one.
//! Mathematical functions come from the crate `libm`, so that the bytes are the same on every machine.

mod event;
mod geometry;

pub use event::PHI_COLUMNS;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fingerprint::digest;
use super::split::validation_rows;
use super::table::{Table, normalise, statistics};
use super::{DatasetError, DatasetFacts, Features, Normalisation, OpenDataset, Splits, Target};
use crate::base::{Purpose, Seed};
use geometry::Detector;

/// Part of the fingerprint: increased when the generator's output changes.
const VERSION: u32 = 1;

/// Generated neutron captures in a cylinder: 22 numbers of an event, and the hits in every voxel of the surface.
///
/// A capture happens uniformly in the cylinder and gives 1 to 4 gammas, whose energies sum to the event's energy. Hits
/// are Poisson, with a mean in proportion to energy · solid angle · exp(-distance / `attenuation-mm`). At the default
/// size about one event in forty hits fewer than 6 voxels. The 22 numbers are the features, standardised by the
/// training events alone; the hits are the target, as they are. A share of `validation.fraction` is validated on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DetectorEventsSpec {
    /// Number of events.
    #[schemars(range(min = 1))]
    pub samples: usize,
    /// Voxels on the cylinder's surface: bottom, side, top, in order of height.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub voxels: usize,
    /// Radius of the cylinder in millimetres.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub radius_mm: f64,
    /// Height of the cylinder in millimetres.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub height_mm: f64,
    /// Distance in millimetres over which light falls to 1/e.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub attenuation_mm: f64,
    /// Mean hits that one `MeV` would leave on a surface without attenuation.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub hits_per_mev: f64,
    /// Seed of the generated events; how they are split depends on the run's seed.
    pub seed: u64,
}

impl Default for DetectorEventsSpec {
    fn default() -> Self {
        Self {
            samples: 2500,
            voxels: 7789,
            radius_mm: 2000.0,
            height_mm: 4000.0,
            attenuation_mm: 2000.0,
            hits_per_mev: 160.0,
            seed: 0,
        }
    }
}

impl DetectorEventsSpec {
    pub(super) fn facts(&self, validation_fraction: f64) -> Result<DatasetFacts, DatasetError> {
        self.check()?;
        let validation = validation_rows(self.samples, validation_fraction)?;
        let sizes = [self.samples - validation, validation, 0];
        let target = Target::Values { len: self.voxels };
        let fingerprint = Some(digest(&format!("detector-events {VERSION} {self:?}")));
        Ok(DatasetFacts::new(sizes, FEATURES, target, fingerprint))
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        self.check()?;
        let validation = validation_rows(self.samples, validation_fraction)?;
        let splits = Splits::random(self.samples, validation, 0, seed);
        let mut table = self.generate();
        for column in 0..PHI_COLUMNS.len() {
            let scale = statistics(&table.features, PHI_COLUMNS.len(), column, &splits.train);
            let scale = normalise(&mut table.features, PHI_COLUMNS.len(), column, scale);
            table.normalisation.features.push(scale);
        }
        Ok(OpenDataset::new(table, splits))
    }

    fn check(&self) -> Result<(), DatasetError> {
        let mismatch = |message: String| Err(DatasetError::Mismatch(message));
        let bytes = self.samples.saturating_mul(self.voxels).saturating_mul(4);
        if self.samples == 0 || self.samples > u32::MAX as usize || bytes > isize::MAX as usize {
            return mismatch(format!(
                "`samples` must be from 1 to {}, not {}",
                u32::MAX,
                self.samples
            ));
        }
        if self.voxels < geometry::FEWEST_VOXELS {
            return mismatch(format!(
                "`voxels` must be at least {}, not {}",
                geometry::FEWEST_VOXELS,
                self.voxels
            ));
        }
        let lengths = [
            ("radius-mm", self.radius_mm),
            ("height-mm", self.height_mm),
            ("attenuation-mm", self.attenuation_mm),
            ("hits-per-mev", self.hits_per_mev),
        ];
        for (key, value) in lengths {
            if !value.is_finite() || value <= 0.0 {
                return mismatch(format!("`{key}` must be larger than 0, not {value}"));
            }
        }
        Ok(())
    }

    /// All events in original units.
    fn generate(&self) -> Table {
        let detector = Detector::new(self);
        let mut features = vec![0.0; self.samples * PHI_COLUMNS.len()];
        let mut values = vec![0.0; self.samples * self.voxels];
        features
            .par_chunks_mut(PHI_COLUMNS.len())
            .zip(values.par_chunks_mut(self.voxels))
            .enumerate()
            .for_each_init(Vec::new, |light, (event, (phi, hits))| {
                let mut rng = Seed(self.seed).stream_at(Purpose::Data, &[event as u64]);
                let drawn = self.draw(&mut rng, phi);
                detector.light(drawn.position_mm, light);
                event::draw_hits(&mut rng, light, drawn.hits, hits);
            });
        Table {
            preparation: None,
            source_rows: Vec::new(),
            source_files: Vec::new(),
            form: FEATURES,
            target: Target::Values { len: self.voxels },
            features,
            values,
            labels: Vec::new(),
            class_names: Vec::new(),
            normalisation: Normalisation {
                columns: PHI_COLUMNS.map(str::to_owned).into(),
                ..Normalisation::default()
            },
        }
    }
}

const FEATURES: Features = Features::Vector {
    len: PHI_COLUMNS.len(),
};

#[cfg(test)]
mod tests;
