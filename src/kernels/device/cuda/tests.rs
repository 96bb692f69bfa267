//! Tests of uploads, launches and errors, and of the checks of the stand-in for mistakes that a GPU would not report.

use dfdx::tensor::Cuda;

use super::*;

/// Values in (-1, 1) that all differ, also between seeds.
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
fn an_upload_and_a_download_return_the_values() {
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
fn more_uploads_than_staging_buffers_arrive_complete() {
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
fn the_error_for_a_missing_device_names_it() {
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
        .args((&x, &mut sums, 1000_usize))
        .run()
        .unwrap();
    let expected: Vec<f32> = values.chunks(256).map(|part| part.iter().sum()).collect();
    assert_close(&device.download(&sums).unwrap(), &expected, 1e-5);
}

#[test]
fn a_missing_barrier_shows_in_reverse_order() {
    let device = Cuda::open(0).unwrap();
    let neighbours = |waits, backwards| {
        let mut result = device.zeros_buffer(64).unwrap();
        set_reverse_execution(backwards);
        let launch = Launch::new("test_neighbour").threads(64).arg(&mut result);
        launch.arg(waits).run().unwrap();
        set_reverse_execution(false);
        device.download(&result).unwrap()
    };
    let expected: Vec<f32> = (0..64_u8).map(|thread| f32::from(thread ^ 1)).collect();
    assert_eq!(
        [neighbours(1, false), neighbours(1, true)],
        [expected.clone(), expected]
    );
    assert_ne!(neighbours(0, false), neighbours(0, true));
}

fn launch_a_failing_one(device: &Cuda) -> Result<(), DeviceError> {
    let mut result = device.zeros_buffer(64).unwrap();
    Launch::new("test_hang").threads(64).arg(&mut result).run()
}

#[test]
fn after_a_failed_kernel_every_call_is_an_error_and_the_process_lives() {
    let device = Cuda::open(0).unwrap();
    let before = device.upload(vec![1.0; 5]).unwrap();
    // The launch's buffer is freed right after it.
    assert_eq!(launch_a_failing_one(&device), Ok(()));
    let fill = device.full_buffer(64, 1.0).unwrap_err();
    assert!(
        fill.to_string().contains("CUDA_ERROR_LAUNCH_FAILED"),
        "{fill}"
    );
    assert!(device.download(&before).is_err());
    // Buffers, device, stream and events are dropped, here and when this thread ends.
    drop((before, device));
}

#[test]
fn an_error_names_its_kernel_if_every_launch_is_waited_for() {
    let device = Cuda::open(0).unwrap();
    Context::current().unwrap().set_waits(true);
    let error = launch_a_failing_one(&device).unwrap_err();
    assert!(error.to_string().contains("test_hang"), "{error}");
}

#[test]
fn allocations_of_zero_bytes_do_not_reach_the_driver() {
    // The stand-in refuses zero bytes, and would fail at an address that it has not allocated.
    let device = Cuda::open(0).unwrap();
    let empty = device.zeros_buffer(0).unwrap();
    let copy = empty.clone();
    assert_eq!(device.download(&copy).unwrap(), Vec::<f32>::new());
    assert_eq!(
        device.upload(Vec::new()).map(|b| device.buffer_len(&b)),
        Ok(0)
    );
}

#[test]
fn a_device_is_opened_once_and_cublas_once_with_it() {
    let [first, second] = [Cuda::open(0), Cuda::open(0)].map(|device| {
        let buffer = device.unwrap().zeros_buffer(1).unwrap();
        buffer.device()
    });
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!(blas::opened(), 1);
}

#[test]
fn shared_memory_does_not_carry_over_between_blocks() {
    let device = Cuda::open(0).unwrap();
    let mut found = device.zeros_buffer(6).unwrap();
    Launch::new("test_leftover")
        .blocks(3)
        .threads(32)
        .shared(16)
        .arg(&mut found)
        .run()
        .unwrap();
    let found = device.download(&found).unwrap();
    assert!(found.iter().all(|value| value.is_nan()), "{found:?}");
}

#[test]
fn a_shuffle_with_lanes_that_have_ended_is_an_error() {
    // After the first failure, nothing runs on the thread any more.
    for threads in [32, 16] {
        let failing = std::thread::spawn(move || {
            let device = Cuda::open(0).unwrap();
            Context::current().unwrap().set_waits(true);
            let mut result = device.zeros_buffer(16).unwrap();
            let launch = Launch::new("test_shuffle_of_half").threads(threads);
            launch.arg(&mut result).run().unwrap_err().to_string()
        });
        let error = failing.join().unwrap();
        assert!(error.contains("test_shuffle_of_half"), "{error}");
    }
}

#[test]
fn a_block_of_more_threads_than_its_kernel_was_compiled_for_is_refused() {
    let device = Cuda::open(0).unwrap();
    let mut result = device.zeros_buffer(1).unwrap();
    let mut launch = |name, threads| {
        let launch = Launch::new(name).threads(threads);
        launch
            .arg(&mut result)
            .run()
            .map_err(|error| error.to_string())
    };
    assert_eq!(launch("test_unbounded", 256), Ok(()));
    assert_eq!(launch("test_bounded", 1024), Ok(()));
    let refused = launch("test_unbounded", 288).unwrap_err();
    assert!(refused.ends_with("(701)"), "{refused}");
}

#[test]
fn more_shared_memory_than_a_launch_may_have_is_refused() {
    let device = Cuda::open(0).unwrap();
    let mut found = device.zeros_buffer(2).unwrap();
    let mut launch = |bytes| {
        let launch = Launch::new("test_leftover").threads(32).shared(bytes);
        launch.arg(&mut found).run()
    };
    // The kernel's static array has 128 bytes beside those of the launch; 48 KiB are available without an attribute.
    assert_eq!(launch((48 << 10) - 128), Ok(()));
    assert!(launch(48 << 10).is_err());
    assert_eq!(launch((227 << 10) - 128), Ok(()));
    assert!(launch(227 << 10).is_err());
}

#[test]
#[should_panic(
    expected = "arguments of kernel `test_neighbour`: Size(2147483648) for number 1, Some(I32)"
)]
fn a_number_that_an_int_does_not_hold_is_refused() {
    let mut buffer = Cuda::open(0).unwrap().zeros_buffer(64).unwrap();
    let _ = Launch::new("test_neighbour").args((&mut buffer, 1_usize << 31));
}

#[test]
#[should_panic(expected = "arguments of kernel `device_fill`")]
fn arguments_that_the_kernel_does_not_have_are_refused() {
    let mut buffer = Cuda::open(0).unwrap().zeros_buffer(4).unwrap();
    let _ = Launch::new("device_fill")
        .args((&mut buffer, 4_usize))
        .run();
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
            ..Product::new(m, n, k).batched(2).adding(true)
        };
        let [a, b] = [&a, &b].map(|values| device.upload(values.clone()).unwrap());
        for (arithmetic, tolerance) in [
            (Arithmetic::Single, 1e-6),
            (Arithmetic::Tf32, 2e-3),
            (Arithmetic::Half, 2e-3),
            (Arithmetic::Bfloat, 1.6e-2),
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

#[test]
fn values_of_16_bits_are_rounded_as_by_pytorch() {
    // x = torch.tensor([...]); x.half().float(), x.bfloat16().float()
    let x = vec![
        1.003_906_3,
        1.011_718_8,
        -0.3,
        3.4e38,
        1e-40,
        65_520.0,
        f32::INFINITY,
        7.3,
    ];
    let (inf, device) = (f32::INFINITY, Cuda::open(0).unwrap());
    let half = [
        1.003_906_3,
        1.011_718_8,
        -0.300_048_83,
        inf,
        0.0,
        inf,
        inf,
        7.300_781_3,
    ];
    let bfloat = [
        1.0,
        1.015_625,
        -0.300_781_25,
        inf,
        9.183_55e-41,
        65_536.0,
        inf,
        7.312_5,
    ];
    for (arithmetic, expected) in [(Arithmetic::Half, half), (Arithmetic::Bfloat, bfloat)] {
        let [x, one] = [x.clone(), vec![1.0]].map(|values| device.upload(values).unwrap());
        let mut y = device.uninit_buffer(8).unwrap();
        device.set_arithmetic(arithmetic).unwrap();
        Product::new(8, 1, 1).run(&x, &one, &mut y).unwrap();
        device.set_arithmetic(Arithmetic::Single).unwrap();
        assert_eq!(device.download(&y).unwrap(), expected, "{arithmetic}");
    }
}
