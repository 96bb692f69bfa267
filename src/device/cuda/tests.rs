//! The seam itself, and that the stand-in finds what a GPU would not forgive.

use dfdx::tensor::Cuda;

use super::*;

/// Values that differ from each other and from seed to seed, in (-1, 1).
fn filled(len: usize, seed: u32) -> Vec<f32> {
    let value = |i: usize| ((i as f32 + 1.0) * 0.731 + seed as f32).sin();
    (0..len).map(value).collect()
}

#[track_caller]
fn assert_close(actual: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(actual.len(), expected.len());
    for (i, (a, e)) in actual.iter().zip(expected).enumerate() {
        let error = (a - e).abs();
        assert!(
            error <= tolerance * e.abs().max(1.0),
            "value {i}: {a} instead of {e}"
        );
    }
}

#[test]
fn values_go_to_the_device_and_back() {
    let device = Cuda::open(0).unwrap();
    for len in [0, 1, 33, 100_001] {
        let values = filled(len, 1);
        let buffer = device.upload(values.clone()).unwrap();
        assert_eq!(device.download(&buffer).unwrap(), values);
    }
    let full = device.full_buffer(1025, 2.5).unwrap();
    assert_eq!(device.download(&full).unwrap(), vec![2.5; 1025]);
    assert_eq!(
        downloaded(&uploaded(&[1_u64, 2, 3]).unwrap()).unwrap(),
        [1, 2, 3]
    );
}

#[test]
fn more_uploads_than_places_arrive_whole() {
    let device = Cuda::open(0).unwrap();
    let values: Vec<_> = (0..40)
        .map(|seed| filled(1 + 97 * seed as usize, seed))
        .collect();
    let buffers: Vec<_> = values
        .iter()
        .map(|v| device.upload(v.clone()).unwrap())
        .collect();
    for (buffer, values) in buffers.iter().zip(&values) {
        assert_eq!(&device.download(buffer).unwrap(), values);
    }
}

#[test]
fn a_device_that_is_not_here_is_named() {
    let error = Cuda::open(3).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`cuda:3` is not here: the driver counts 1 GPU"
    );
}

#[test]
fn a_block_adds_its_values_for_every_thread() {
    let device = Cuda::open(0).unwrap();
    let values = filled(1000, 3);
    let x = device.upload(values.clone()).unwrap();
    let mut sums = device.zeros_buffer(4).unwrap();
    Launch::new("test_block_sum")
        .blocks(4)
        .read(&x)
        .write(&mut sums)
        .size(1000)
        .run()
        .unwrap();
    let expected: Vec<f32> = values.chunks(256).map(|part| part.iter().sum()).collect();
    assert_close(&device.download(&sums).unwrap(), &expected, 1e-5);
}

#[test]
fn a_missing_wait_shows_in_one_of_the_orders() {
    let device = Cuda::open(0).unwrap();
    let neighbours = |waits, backwards| {
        let mut result = device.zeros_buffer(64).unwrap();
        order_backwards(backwards);
        let launch = Launch::new("test_neighbour").threads(64).write(&mut result);
        launch.int(waits).run().unwrap();
        order_backwards(false);
        device.download(&result).unwrap()
    };
    let expected: Vec<f32> = (0..64_u8).map(|thread| f32::from(thread ^ 1)).collect();
    assert_eq!(
        [neighbours(1, false), neighbours(1, true)],
        [expected.clone(), expected]
    );
    assert_ne!(neighbours(0, false), neighbours(0, true));
}

#[test]
fn threads_that_wait_in_vain_are_an_error() {
    let device = Cuda::open(0).unwrap();
    let mut result = device.zeros_buffer(64).unwrap();
    let error = Launch::new("test_hang")
        .threads(64)
        .write(&mut result)
        .run()
        .unwrap_err();
    assert!(error.to_string().contains("test_hang"), "{error}");
}

#[test]
#[should_panic(expected = "arguments of kernel `device_fill`")]
fn arguments_that_the_kernel_has_not_are_refused() {
    let mut buffer = Cuda::open(0).unwrap().zeros_buffer(4).unwrap();
    let _ = Launch::new("device_fill").write(&mut buffer).size(4).run();
}

#[test]
fn products_of_all_layouts_are_those_of_the_definition() {
    let device = Cuda::open(0).unwrap();
    let (m, n, k) = (3, 5, 7);
    let (a, b) = (filled(2 * m * k, 1), filled(2 * k * n, 2));
    for (a_is_transposed, b_is_transposed) in
        [(false, false), (true, false), (false, true), (true, true)]
    {
        let at_a = |i, p| {
            if a_is_transposed {
                p * m + i
            } else {
                i * k + p
            }
        };
        let at_b = |p, j| {
            if b_is_transposed {
                j * k + p
            } else {
                p * n + j
            }
        };
        let mut expected = vec![1.0; 2 * m * n];
        for (index, value) in expected.iter_mut().enumerate() {
            let (batch, i, j) = (index / (m * n), index / n % m, index % n);
            let terms =
                (0..k).map(|p| a[batch * m * k + at_a(i, p)] * b[batch * k * n + at_b(p, j)]);
            *value += terms.sum::<f32>();
        }
        let mut c = device.full_buffer(2 * m * n, 1.0).unwrap();
        let product = Product {
            a_is_transposed,
            b_is_transposed,
            ..Product::new(m, n, k).batched(2).adding()
        };
        let [a, b] = [&a, &b].map(|values| device.upload(values.clone()).unwrap());
        for (arithmetic, tolerance) in [
            (Arithmetic::Single, 1e-6),
            (Arithmetic::Tf32, 2e-3),
            (Arithmetic::Half, 2e-3),
        ] {
            let mut c = c.clone();
            device.set_arithmetic(arithmetic).unwrap();
            product.run(&a, &b, &mut c).unwrap();
            device.set_arithmetic(Arithmetic::Single).unwrap();
            assert_close(&device.download(&c).unwrap(), &expected, tolerance);
        }
        product.run(&a, &b, &mut c).unwrap();
    }
}
