//! [`Detector`]: voxels on the surface of a cylinder, and the fraction of an event's light that reaches each voxel.

use std::f64::consts::PI;

use super::DetectorEventsSpec;

/// The golden angle: consecutive points of a spiral at this angle fill a disc, or the side of a cylinder, evenly.
const GOLDEN_ANGLE: f64 = 2.399_963_229_728_653;

/// The voxels of a cylinder around the origin, whose axis is z.
#[derive(Debug)]
pub(super) struct Detector {
    voxels: Vec<Voxel>,
    /// Squared radius in mm² of a disc with the area of a voxel.
    disc_mm2: f64,
    attenuation_mm: f64,
}

/// A voxel's centre and the unit vector that points inwards.
#[derive(Debug, Clone, Copy)]
struct Voxel {
    centre_mm: [f64; 3],
    inwards: [f64; 3],
}

impl Detector {
    /// Places the voxels in order of height; bottom, side and top get numbers of voxels in proportion to their areas.
    pub(super) fn new(spec: &DetectorEventsSpec) -> Self {
        let (radius, height) = (spec.radius_mm, spec.height_mm);
        let cap = PI * radius * radius;
        let surface = 2.0 * cap + 2.0 * PI * radius * height;
        let share = (spec.voxels as f64 * cap / surface).round() as usize;
        let in_cap = share.clamp(1, (spec.voxels - 1) / 2);
        let in_side = spec.voxels - 2 * in_cap;
        let bottom = (0..in_cap).map(|index| cap_voxel(index, in_cap, radius, -0.5 * height));
        let side = (0..in_side).map(|index| side_voxel(index, in_side, radius, height));
        let top = (0..in_cap).map(|index| cap_voxel(index, in_cap, radius, 0.5 * height));
        Self {
            voxels: bottom.chain(side).chain(top).collect(),
            disc_mm2: surface / spec.voxels as f64 / PI,
            attenuation_mm: spec.attenuation_mm,
        }
    }

    /// Writes to `light` the fraction of the light from `point_mm` that each voxel receives: solid angle divided by 4π,
    /// attenuated.
    ///
    /// The solid angle is that of a disc with the voxel's area on its axis, times the cosine of the angle of incidence:
    /// `½ (1 - d / √(d² + a²)) cos θ`, finite at any distance d.
    pub(super) fn light(&self, point_mm: [f64; 3], light: &mut Vec<f64>) {
        light.clear();
        light.extend(self.voxels.iter().map(|voxel| {
            let towards: [f64; 3] =
                std::array::from_fn(|axis| point_mm[axis] - voxel.centre_mm[axis]);
            let square: f64 = towards.iter().map(|part| part * part).sum();
            let distance = square.sqrt();
            let along: f64 = towards.iter().zip(voxel.inwards).map(|(a, b)| a * b).sum();
            let cosine = (along / distance.max(f64::MIN_POSITIVE)).max(0.0);
            let angle = 0.5 * (1.0 - distance / (square + self.disc_mm2).sqrt()) * cosine;
            angle * libm::exp(-distance / self.attenuation_mm)
        }));
    }
}

/// Voxel `index` of the `count` voxels on a disc (bottom or top) at height `z` in mm.
fn cap_voxel(index: usize, count: usize, radius: f64, z: f64) -> Voxel {
    let (sin, cos) = libm::sincos(index as f64 * GOLDEN_ANGLE);
    let r = radius * ((index as f64 + 0.5) / count as f64).sqrt();
    Voxel {
        centre_mm: [r * cos, r * sin, z],
        inwards: [0.0, 0.0, -z.signum()],
    }
}

/// Voxel `index` of the `count` voxels on the side, in order of height.
fn side_voxel(index: usize, count: usize, radius: f64, height: f64) -> Voxel {
    let (sin, cos) = libm::sincos(index as f64 * GOLDEN_ANGLE);
    let z = height * ((index as f64 + 0.5) / count as f64 - 0.5);
    Voxel {
        centre_mm: [radius * cos, radius * sin, z],
        inwards: [-cos, -sin, 0.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detector(attenuation_mm: f64) -> Detector {
        Detector::new(&DetectorEventsSpec {
            attenuation_mm,
            ..DetectorEventsSpec::default()
        })
    }

    #[test]
    fn without_attenuation_the_surface_gets_all_the_light() {
        let detector = detector(1e12);
        let mut light = Vec::new();
        for point in [[0.0; 3], [1500.0, 0.0, 1000.0], [0.0, -1000.0, -1800.0]] {
            detector.light(point, &mut light);
            let all: f64 = light.iter().sum();
            assert!((all - 1.0).abs() < 0.03, "{point:?}: {all}");
        }
    }

    #[test]
    fn light_falls_off_with_the_distance() {
        let mut light = Vec::new();
        detector(2000.0).light([0.0; 3], &mut light);
        // A voxel in the middle of the side is 2 m from the centre: it gets the fraction a²/(4 d²) of the light, times
        // 1/e.
        let middle = light[light.len() / 2];
        let area = 24.0 * PI / 7789.0; // m²: 4π for each cap, 16π for the side
        let expected = area / (4.0 * PI * 4.0) * (-1.0_f64).exp();
        assert!(
            (middle / expected - 1.0).abs() < 0.01,
            "{middle} {expected}"
        );
    }

    #[test]
    fn voxels_lie_on_the_surface_in_order_of_height() {
        let detector = detector(2000.0);
        assert_eq!(detector.voxels.len(), 7789);
        let mut last = f64::NEG_INFINITY;
        for voxel in &detector.voxels {
            let [x, y, z] = voxel.centre_mm;
            let radius = (x * x + y * y).sqrt();
            let on_side = (radius - 2000.0).abs() < 1e-6 && z.abs() < 2000.0;
            let on_cap = (z.abs() - 2000.0).abs() < 1e-6 && radius < 2000.0;
            assert!(on_side || on_cap, "{voxel:?}");
            assert!(z >= last, "{voxel:?} after {last}");
            last = z;
        }
    }
}
