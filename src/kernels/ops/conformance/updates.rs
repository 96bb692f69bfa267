//! Copies to the device and back, and in-place updates: the steps of optimizers.

use super::{Answer, Case, Trial, random};
use crate::device::Buffer;
use crate::ops::{AdamStep, Kernels, OpError, SgdStep};

/// Copies to the device and back keep every bit.
pub(super) fn memory<D: Kernels>() -> Vec<Case<D>> {
    vec![Case::new("memory", "UpdateKernel", |t| {
        let mut values = random(t.pick(31, 300_001, 300_001), 1);
        // What arithmetic would not leave as it is: a negative zero, a subnormal number, the largest.
        values[..4].copy_from_slice(&[-0.0, f32::from_bits(1), f32::MAX, f32::MIN]);
        let there = t.device.upload(values.clone())?;
        let back = t.device.download(&there)?;
        let copy = t.device.download(&there.clone())?;
        let full = t.device.full_buffer(t.pick(1, 1025, 1025), 1.5)?;
        Ok(vec![
            part("values", back.clone()),
            part("changed", vec![changed(&values, &back)]),
            part("changed in a copy", vec![changed(&values, &copy)]),
            part("fill", t.device.download(&full)?),
            part("nothing", t.device.download(&t.device.zeros_buffer(0)?)?),
            part("zeros", t.device.download(&t.device.zeros_buffer(33)?)?),
        ])
    })]
}

pub(super) fn updates<D: Kernels>() -> Vec<Case<D>> {
    vec![
        Case::new("sum_of_squares", "UpdateKernel", |t| {
            let x = t.device.upload(inputs(t, 1))?;
            let sum = t.device.sum_of_squares(&x)? as f32;
            Ok(vec![part("values", vec![sum])])
        }),
        Case::new("scale", "UpdateKernel", |t| {
            in_place(t, |device, x, _| device.scale(x, 0.3))
        }),
        Case::new("add_scaled", "UpdateKernel", |t| {
            in_place(t, |device, x, y| device.add_scaled(x, y, 0.3))
        }),
        Case::new("lerp", "UpdateKernel", |t| {
            in_place(t, |device, x, y| device.lerp(x, y, 0.1))
        }),
        Case::new("adam_step", "UpdateKernel", |t| {
            let (mut p, g) = (
                t.device.upload(inputs(t, 1))?,
                t.device.upload(inputs(t, 2))?,
            );
            let squares = inputs(t, 4).iter().map(|x| x * x).collect();
            let (mut mean, mut square) =
                (t.device.upload(inputs(t, 3))?, t.device.upload(squares)?);
            let step = AdamStep::new(1e-2, (0.9, 0.999), 1e-8, 0.1, 3);
            t.device
                .adam_step(&mut p, &g, &mut mean, &mut square, step)?;
            Ok(vec![
                part("values", t.device.download(&p)?),
                part("mean", t.device.download(&mean)?),
                part("square", t.device.download(&square)?),
            ])
        }),
        Case::new("sgd_step", "UpdateKernel", |t| {
            let (mut p, g) = (
                t.device.upload(inputs(t, 1))?,
                t.device.upload(inputs(t, 2))?,
            );
            let mut momentum = t.device.upload(inputs(t, 3))?;
            let step = SgdStep {
                lr: 1e-2,
                momentum: 0.9,
                nesterov: t.pick(false, true, true),
                weight_decay: 0.1,
            };
            t.device.sgd_step(&mut p, &g, Some(&mut momentum), step)?;
            Ok(vec![
                part("values", t.device.download(&p)?),
                part("momentum", t.device.download(&momentum)?),
            ])
        }),
    ]
}

fn part(name: &str, values: Vec<f32>) -> (String, Vec<f32>) {
    (name.to_owned(), values)
}

/// Number of values with other bits: 0 on every device that keeps them.
fn changed(before: &[f32], after: &[f32]) -> f32 {
    let pairs = before.iter().zip(after);
    pairs.filter(|(b, a)| b.to_bits() != a.to_bits()).count() as f32
}

fn inputs<D: Kernels>(t: &Trial<'_, D>, seed: u64) -> Vec<f32> {
    random(t.pick(5, 33_793, 70_001), seed)
}

/// What a kernel makes of its first input.
type InPlace<D> = fn(&D, &mut Buffer<D>, &Buffer<D>) -> Result<(), OpError>;

fn in_place<D: Kernels>(t: &Trial<'_, D>, f: InPlace<D>) -> Result<Answer, OpError> {
    let mut x = t.device.upload(inputs(t, 1))?;
    let y = t.device.upload(inputs(t, 2))?;
    f(t.device, &mut x, &y)?;
    Ok(vec![part("values", t.device.download(&x)?)])
}
