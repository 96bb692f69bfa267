//! Test cases of copies to the device and back, and of in-place updates, such as the steps of optimizers.

use super::{Case, NamedValues, Trial, random};
use crate::device::{Backend, Buffer};
use crate::ops::{
    AdamStep, Grads, Kernels, LionStep, Module, Parameter, Path, Result, RmspropStep, SgdStep,
    StepState,
};

/// Test case: copies to the device and back keep every bit.
pub(super) fn memory<D: Kernels>() -> Vec<Case<D>> {
    vec![Case::new("memory", "UpdateKernel", |t| {
        let mut values = random(t.pick(31, 300_001, 300_001), 1);
        // Values that arithmetic would change: a negative zero, a subnormal number, the largest.
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
            let mut model = SingleParameterModel::new(t.device, inputs(t, 2))?;
            let mut averages = StepState::new(vec![[t.device.upload(inputs(t, 1))?]]);
            t.device.lerp_all(&mut averages, &mut model, 0.1, None)?;
            let [average] = &averages.buffers[0];
            Ok(vec![part("values", t.device.download(average)?)])
        }),
        Case::new("adam_step", "UpdateKernel", |t| {
            let mut model = SingleParameterModel::new(t.device, inputs(t, 1))?;
            let mut grads = model.gradients(t.device, inputs(t, 2))?;
            let squares = inputs(t, 4).iter().map(|x| x * x).collect();
            let mean = t.device.upload(inputs(t, 3))?;
            let mut state = StepState::new(vec![[mean, t.device.upload(squares)?]]);
            let step = (AdamStep::new(1e-2, (0.9, 0.999), 1e-8, 0.1, 3), 0.0);
            t.device
                .adam_steps(&mut model, &mut grads, &mut state, step, &[], None)?;
            let [mean, square] = &state.buffers[0];
            Ok(vec![
                part("values", model.values(t.device)?),
                part("mean", t.device.download(mean)?),
                part("square", t.device.download(square)?),
            ])
        }),
        Case::new("sgd_step", "UpdateKernel", |t| {
            let mut model = SingleParameterModel::new(t.device, inputs(t, 1))?;
            let mut grads = model.gradients(t.device, inputs(t, 2))?;
            let mut state = StepState::new(vec![[t.device.upload(inputs(t, 3))?]]);
            let step = SgdStep {
                lr: 1e-2,
                momentum: 0.9,
                nesterov: t.pick(false, true, true),
                weight_decay: 0.1,
                only_matrices: false,
            };
            t.device
                .sgd_steps(&mut model, &mut grads, &mut state, step, &[], None)?;
            let [momentum] = &state.buffers[0];
            Ok(vec![
                part("values", model.values(t.device)?),
                part("momentum", t.device.download(momentum)?),
            ])
        }),
        Case::new("rmsprop_step", "UpdateKernel", rmsprop),
        Case::new("lion_step", "UpdateKernel", lion),
    ]
}

fn rmsprop<D: Kernels>(t: &Trial<'_, D>) -> Result<NamedValues> {
    let mut model = SingleParameterModel::new(t.device, inputs(t, 1))?;
    let mut grads = model.gradients(t.device, inputs(t, 2))?;
    let mut state = StepState::default();
    state.init_zeros_of(
        t.device,
        &mut model,
        [true, t.pick(true, false, true), true],
    )?;
    let step = RmspropStep {
        lr: 1e-2,
        alpha: 0.9,
        eps: 1e-8,
        momentum: 0.9,
        weight_decay: 0.1,
        only_matrices: false,
    };
    for _ in 0..2 {
        t.device
            .rmsprop_steps(&mut model, &mut grads, &mut state, step, &[], None)?;
    }
    let [square, _, momentum] = &state.buffers[0];
    Ok(vec![
        part("values", model.values(t.device)?),
        part("square", t.device.download(square)?),
        part("momentum", t.device.download(momentum)?),
    ])
}

fn lion<D: Kernels>(t: &Trial<'_, D>) -> Result<NamedValues> {
    let mut model = SingleParameterModel::new(t.device, inputs(t, 1))?;
    let mut grads = model.gradients(t.device, inputs(t, 2))?;
    let mut state = StepState::new(vec![[t.device.upload(inputs(t, 3))?]]);
    let step = LionStep {
        lr: 1e-2,
        beta1: 0.9,
        beta2: 0.99,
        weight_decay: 0.1,
        only_matrices: false,
    };
    t.device
        .lion_steps(&mut model, &mut grads, &mut state, step, &[], None)?;
    let [mean] = &state.buffers[0];
    Ok(vec![
        part("values", model.values(t.device)?),
        part("mean", t.device.download(mean)?),
    ])
}

/// A model with a single parameter.
pub(in crate::ops) struct SingleParameterModel<D: Backend>(Parameter<D>);

impl<D: Backend> Module<D> for SingleParameterModel<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.as_str(), &mut self.0);
    }
}

impl<D: Backend> SingleParameterModel<D> {
    pub(in crate::ops) fn new(device: &D, values: Vec<f32>) -> Result<Self> {
        Ok(Self(Parameter::from_buffer(
            device,
            device.upload(values)?,
        )?))
    }

    pub(in crate::ops) fn values(&self, device: &D) -> Result<Vec<f32>> {
        Ok(device.download(self.0.data())?)
    }

    pub(in crate::ops) fn gradients(&self, device: &D, values: Vec<f32>) -> Result<Grads<D>> {
        let mut grads = Grads::recording_squares(device);
        *grads.of_parameter(&self.0)? = device.upload(values)?;
        Ok(grads)
    }
}

fn part(name: &str, values: Vec<f32>) -> (String, Vec<f32>) {
    (name.to_owned(), values)
}

/// Number of values whose bits differ between `before` and `after`.
fn changed(before: &[f32], after: &[f32]) -> f32 {
    let pairs = before.iter().zip(after);
    pairs.filter(|(b, a)| b.to_bits() != a.to_bits()).count() as f32
}

fn inputs<D: Kernels>(t: &Trial<'_, D>, seed: u64) -> Vec<f32> {
    random(t.pick(5, 33_793, 70_001), seed)
}

/// A kernel that changes its first input in place.
type InPlace<D> = fn(&D, &mut Buffer<D>, &Buffer<D>) -> Result<()>;

fn in_place<D: Kernels>(t: &Trial<'_, D>, f: InPlace<D>) -> Result<NamedValues> {
    let mut x = t.device.upload(inputs(t, 1))?;
    let y = t.device.upload(inputs(t, 2))?;
    f(t.device, &mut x, &y)?;
    Ok(vec![part("values", t.device.download(&x)?)])
}
