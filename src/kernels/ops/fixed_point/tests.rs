use super::*;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers, random_values};
use crate::ops::{blend, cross_attention, distance, layer_norm, linear, linear_residual, nudge};

const EPS: f32 = 1e-5;

/// Sizes of a test problem: batch, width d of the state, width f of the hidden layer, heads.
#[derive(Clone, Copy)]
struct Size {
    batch: usize,
    d: usize,
    f: usize,
    heads: usize,
    kind: AttentionKind,
}

impl Size {
    fn new(batch: usize, d: usize, f: usize, heads: usize) -> Self {
        let kind = AttentionKind::Linear;
        Self {
            batch,
            d,
            f,
            heads,
            kind,
        }
    }

    /// The shapes of start, keys, values and the block's parameters.
    fn shapes(self) -> Vec<Shape> {
        let (d, f) = (self.d, self.f);
        let state = [self.batch, 1, d].into();
        let (row, wide) = (Shape::from([d]), Shape::from([f]));
        let linear = |inputs: usize, outputs: usize| Shape::from([inputs, outputs]);
        let (up, down, square) = (linear(d, f), linear(f, d), linear(d, d));
        let norm = [row, row];
        let parts = [norm, [square, row], [square, row], norm];
        let rest = [[up, wide], [down, row], norm];
        let inputs = [state; 3].into_iter();
        inputs
            .chain(parts.into_iter().chain(rest).flatten())
            .collect()
    }

    fn leaves(self) -> Vec<Vec<f32>> {
        let shapes = self.shapes();
        let filled = |(seed, shape): (usize, &Shape)| random_values(shape.len(), seed as u64 + 1);
        shapes.iter().enumerate().map(filled).collect()
    }

    fn block(self, vars: &[Var<TestDevice>]) -> AttentionBlock<TestDevice> {
        let pair = |index: usize| [vars[3 + 2 * index].clone(), vars[4 + 2 * index].clone()];
        AttentionBlock {
            norm1: pair(0),
            q: pair(1),
            out: pair(2),
            norm2: pair(3),
            ff1: pair(4),
            ff2: pair(5),
            norm3: pair(6),
            eps: EPS,
            heads: self.heads,
            kind: self.kind,
        }
    }
}

fn damping(iterations: usize, tolerance: f64) -> Damping {
    Damping {
        iterations,
        gamma: 0.7,
        tolerance,
    }
}

type Found = Result<(Var<TestDevice>, usize)>;

/// Calls the operation, or its composition of separate operations if the device has no kernel for it.
fn at_once(
    pass: &mut Pass<TestDevice>,
    vars: &[Var<TestDevice>],
    size: Size,
    damping: Option<Damping>,
    nudging: Option<Nudging<'_, TestDevice>>,
) -> Found {
    let block = size.block(vars);
    let problem = FixedPoint {
        start: &vars[0],
        source: [&vars[1], &vars[2]],
        block: &block,
        damping,
        nudging,
    };
    match fixed_point(pass, &problem)? {
        Some(found) => Ok(found),
        None => composed(pass, &problem),
    }
}

fn composed(pass: &mut Pass<TestDevice>, problem: &FixedPoint<'_, TestDevice>) -> Found {
    let Some(damping) = problem.damping else {
        return Ok((apply(pass, problem, problem.start)?, 1));
    };
    let mut state = problem.start.clone();
    for done in 1..=damping.iterations {
        let target = apply(pass, problem, &state)?;
        let (old, new) = (1.0 - damping.gamma, damping.gamma);
        let next = blend(pass, (&state, old), (&target, new))?;
        let change = distance(pass, &next, &state)?;
        state = next;
        if change < damping.tolerance {
            return Ok((state, done));
        }
    }
    Ok((state, damping.iterations))
}

fn apply(
    pass: &mut Pass<TestDevice>,
    problem: &FixedPoint<'_, TestDevice>,
    h: &Var<TestDevice>,
) -> Result<Var<TestDevice>> {
    let (block, [keys, values]) = (problem.block, problem.source);
    let norm = |pass: &mut Pass<_>, x: &Var<_>, [gamma, beta]: &[Var<_>; 2]| {
        layer_norm(pass, x, gamma, beta, block.eps)
    };
    let identity = Activation::Identity;
    let n = norm(pass, h, &block.norm1)?;
    let q = linear(pass, &n, &block.q[0], Some(&block.q[1]), identity)?;
    let attended = cross_attention(pass, &q, keys, values, block.heads, block.kind)?;
    let u = linear_residual(pass, h, &attended, &block.out[0], &block.out[1])?;
    let n = norm(pass, &u, &block.norm2)?;
    let [weight, bias] = &block.ff1;
    let hidden = linear(pass, &n, weight, Some(bias), Activation::Gelu)?;
    let w = linear_residual(pass, &u, &hidden, &block.ff2[0], &block.ff2[1])?;
    let f = norm(pass, &w, &block.norm3)?;
    let Some(nudging) = &problem.nudging else {
        return Ok(f);
    };
    let [weight, bias] = nudging.head;
    let rows = f.reshape([h.shape().rows(), h.shape().last()])?;
    nudge(
        pass,
        &rows,
        (weight, bias),
        nudging.labels,
        nudging.strength,
    )?
    .reshape(h.shape())
}

fn both(size: Size, damping: Option<Damping>) -> [(Vec<f32>, Vec<Vec<f32>>); 2] {
    let (leaves, shapes) = (size.leaves(), size.shapes());
    let pairs: Vec<(&[f32], Shape)> = leaves.iter().map(Vec::as_slice).zip(shapes).collect();
    let slopes = random_values(size.batch * size.d, 99);
    let own = testing::backward(&pairs, &slopes, |pass, vars| {
        Ok(at_once(pass, vars, size, damping, None)?.0)
    });
    let parts = testing::backward(&pairs, &slopes, |pass, vars| {
        let block = size.block(vars);
        let problem = FixedPoint {
            start: &vars[0],
            source: [&vars[1], &vars[2]],
            block: &block,
            damping,
            nudging: None,
        };
        Ok(composed(pass, &problem)?.0)
    });
    [own, parts]
}

/// The values of parameter number `index` in the PyTorch script below.
fn numbered(len: usize, index: usize) -> Vec<f32> {
    let value = |i: usize| ((i * 37 + index * 11) % 41) as f32 / 20.0 - 1.0;
    (0..len).map(value).collect()
}

#[test]
fn values_and_gradients_are_those_of_pytorch() {
    // In f64; h, k, v, then norm1, q, out, norm2, ff1, ff2, norm3 are from `numbered`, with d = 3, f = 2:
    // def block(h):
    //     q, kk = F.elu(F.layer_norm(h, (3,), g1, b1) @ wq + bq) + 1, F.elu(k) + 1
    //     s = (q * kk).sum(-1, keepdim=True)
    //     u = h + (v * s / (s + 1e-6)) @ wo + bo
    //     return F.layer_norm(u + F.gelu(F.layer_norm(u, (3,), g2, b2) @ w1 + c1) @ w2 + c2, (3,), g3, b3)
    // for _ in range(3): h = 0.3 * h + 0.7 * block(h)
    // h.backward(torch.tensor([[[1., -.5, .25]]]))
    let size = Size::new(1, 3, 2, 1);
    let shapes = size.shapes();
    let leaves: Vec<Vec<f32>> = (0..shapes.len())
        .map(|index| numbered(shapes[index].len(), index))
        .collect();
    let pairs: Vec<(&[f32], Shape)> = leaves.iter().map(Vec::as_slice).zip(shapes).collect();
    let (y, grads) = testing::backward(&pairs, &[1.0, -0.5, 0.25], |pass, vars| {
        Ok(at_once(pass, vars, size, Some(damping(3, 1e-30)), None)?.0)
    });
    assert_close(&y, &[-0.265_737_48, -1.523_430_6, 0.098_690_94], 2e-6);
    let expected: [(usize, &[f32]); 8] = [
        (0, &[-0.004_890_407_5, -0.001_390_809_3, 0.026_531_217]),
        (2, &[-0.096_279_26, -0.096_279_26, -0.096_279_26]),
        (8, &[-0.325_094_6, 0.168_792_73, 0.156_301_87]),
        (9, &[0.015_565_322, 0.046_149_545, -0.008_371_484]),
        (10, &[-0.076_811_66, -0.041_596_137, -0.006_380_616]),
        (12, &[-0.053_912_78, -0.034_126_023]),
        (15, &[-0.003_959_525_6, 0.415_678_3, 0.484_646_47]),
        (16, &[0.679_795_8, -0.329_816_46, 0.379_770_65]),
    ];
    for (index, expected) in expected {
        assert_close(&grads[index], expected, 2e-6);
    }
    let w1 =
        parse_numbers("-0.02320274 -0.014689146 -0.031719176 -0.020074346 0.038905036 0.02462878");
    assert_close(&grads[11], &w1, 2e-6);
    // Gradients of about 1e-9: the effect of ε on the weight of the only key, not rounding noise.
    let scaled = |values: &[f32]| values.iter().map(|value| value * 1e9).collect::<Vec<_>>();
    let k = [3.869_63, 3.911_018_4, 2.600_846_4];
    assert_close(&scaled(&grads[1]), &k, 1e-3);
    let q_bias = [2.379_558, 1.948_217_5, 1.595_065_6];
    assert_close(&scaled(&grads[6]), &q_bias, 1e-3);
}

#[test]
fn one_operation_gives_what_its_parts_give() {
    let sizes = [
        Size::new(1, 1, 1, 1),
        Size::new(3, 5, 3, 5),
        Size::new(5, 17, 31, 1),
        Size::new(17, 12, 33, 4),
        Size::new(31, 13, 52, 1),
        Size::new(33, 3, 17, 3),
        Size::new(65, 8, 32, 8),
        Size::new(130, 21, 84, 1),
    ];
    let softmax = Size {
        kind: AttentionKind::Softmax,
        ..Size::new(19, 6, 24, 2)
    };
    for size in sizes.into_iter().chain([softmax]) {
        for damping in [None, Some(damping(4, 1e-30))] {
            let [(y, grads), (parts, part_grads)] = both(size, damping);
            assert_close(&y, &parts, 2e-5);
            for (own, part) in grads.iter().zip(&part_grads) {
                let largest = part
                    .iter()
                    .fold(1.0_f32, |most, value| most.max(value.abs()));
                let off = own.iter().zip(part).map(|(a, b)| (a - b).abs());
                let worst = off.fold(0.0, f32::max);
                assert!(worst <= 2e-4 * largest, "{worst} of {largest}");
            }
        }
    }
}

#[test]
fn one_and_two_threads_give_the_same_bits() {
    // Enough samples for several chunks at once, forward and backward.
    let size = Size::new(300, 33, 132, 1);
    testing::check_thread_invariance(&size.shapes(), |pass, vars| {
        Ok(at_once(pass, vars, size, Some(damping(3, 1e-30)), None)?.0)
    });
}

#[test]
fn a_nudged_solution_is_that_of_its_parts() {
    let size = Size::new(37, 13, 52, 1);
    let device = testing::device();
    let leaves = size.leaves();
    let vars: Vec<Var<TestDevice>> = leaves
        .into_iter()
        .zip(size.shapes())
        .map(|(values, shape)| Var::constant(&device, values, shape).unwrap())
        .collect();
    let weight = Var::constant(&device, random_values(130, 41), [13, 10]).unwrap();
    let bias = Var::constant(&device, random_values(10, 42), [10]).unwrap();
    let labels: Vec<usize> = (0..37).map(|sample| sample * 7 % 10).collect();
    let nudging = || {
        Some(Nudging {
            head: [&weight, &bias],
            labels: &labels,
            strength: 3.0,
        })
    };
    let mut pass = Pass::inference(&device);
    // The block is no contraction here, so all iterations are done; both variants end in the same state.
    let damping = Some(damping(6, 1e-30));
    let (own, done) = at_once(&mut pass, &vars, size, damping, nudging()).unwrap();
    let work = pass.work();
    let block = size.block(&vars);
    let problem = FixedPoint {
        start: &vars[0],
        source: [&vars[1], &vars[2]],
        block: &block,
        damping,
        nudging: nudging(),
    };
    let mut pass = Pass::inference(&device);
    let (parts, all) = composed(&mut pass, &problem).unwrap();
    assert_eq!((done, work), (all, pass.work()));
    let [own, parts] = [own, parts].map(|var| var.to_host(&device).unwrap());
    assert_close(&own, &parts, 2e-5);
}

#[test]
fn it_stops_when_the_change_is_below_the_tolerance_and_counts_what_it_did() {
    let size = Size::new(21, 13, 52, 1);
    let device = testing::device();
    let leaves = size.leaves();
    // With small weights the block is a contraction, so the iteration converges.
    let shrunk = leaves.into_iter().zip(size.shapes());
    let vars: Vec<Var<TestDevice>> = shrunk
        .map(|(values, shape)| {
            let values = values.iter().map(|value| value * 0.3).collect();
            Var::constant(&device, values, shape)
                .and_then(|var| var.leaf(&device))
                .unwrap()
        })
        .collect();
    for tolerance in [1e-1, 1e-2, 1e-3] {
        let run = |is_composed: bool| {
            let mut pass = Pass::recording(&device);
            let block = size.block(&vars);
            let problem = FixedPoint {
                start: &vars[0].detach(&device).unwrap(),
                source: [&vars[1], &vars[2]],
                block: &block,
                damping: Some(damping(60, tolerance)),
                nudging: None,
            };
            let found = match fixed_point(&mut pass, &problem).unwrap() {
                Some(found) if !is_composed => found,
                _ => {
                    pass = Pass::recording(&device);
                    composed(&mut pass, &problem).unwrap()
                }
            };
            (found.1, pass.work())
        };
        let (own, parts) = (run(false), run(true));
        assert_eq!(own, parts);
        assert!(own.0 > 1 && own.0 < 60, "{}", own.0);
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let size = Size::new(2, 4, 8, 2);
    let device = testing::device();
    let vars: Vec<Var<TestDevice>> = size
        .shapes()
        .into_iter()
        .map(|shape| Var::constant(&device, vec![0.5; shape.len()], shape).unwrap())
        .collect();
    let refused = |size: Size, start: &Var<TestDevice>| {
        let problem = FixedPoint {
            start,
            source: [&vars[1], &vars[2]],
            block: &size.block(&vars),
            damping: None,
            nudging: None,
        };
        let error = fixed_point(&mut Pass::inference(&device), &problem).unwrap_err();
        error.to_string()
    };
    let three = Size { heads: 3, ..size };
    let found = refused(three, &vars[0]);
    let expected = "fixed_point: the block is not one of (2, 1, 4) in 3 heads";
    assert_eq!(found, expected);
    let found = refused(size, &vars[0].reshape([1, 2, 4]).unwrap());
    assert_eq!(found, "fixed_point: a state is (B, 1, d), not (1, 2, 4)");
    let other = Var::constant(&device, vec![0.0; 4], [1, 1, 4]).unwrap();
    let found = refused(size, &other);
    assert!(found.contains("meets keys (2, 1, 4)"), "{found}");
}
