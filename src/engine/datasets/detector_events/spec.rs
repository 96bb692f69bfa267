//! [`DetectorEventsSpec`]: the detector and its events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub samples: usize,
    /// Voxels on the cylinder's surface: bottom, side, top, in order of height.
    #[schemars(range(min = 3, max = 1_000_000))]
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
