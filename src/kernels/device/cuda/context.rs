//! [`Context`]: the state of a thread's one GPU: kernels, libraries and memory.
#![expect(unsafe_code, reason = "the driver's interface is C")]

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{CString, c_int};
use std::rc::Rc;
use std::sync::Arc;

use cudarc::driver::{CudaDevice, CudaSlice, DevicePtrMut, DeviceRepr};
use dfdx::tensor::{Cuda, Storage};

use super::blas::Blas;
use super::call::{self, Pointer};
use super::convolutions::Convolutions;
use super::error::{self, check, driver_error};
use super::staging::Staging;
use crate::base::tally;
use crate::device::{Arithmetic, DeviceError};

/// Environment variable: if it is `1`, waits after every launch, so that an error is reported with the work that caused
/// it.
const SYNC: &str = "FIELDTRIAL_CUDA_SYNC";

/// Machine code of all kernels, built by `compile.rs`. The driver reads its header as 64-bit numbers, so it needs their
/// alignment.
static IMAGE: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/kernels.bin")));

#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const MOST_SHARED: c_int = 8;

/// Bytes of shared memory that a kernel may use without setting [`MOST_SHARED`].
const SHARED: usize = 48 << 10;

/// Largest number of cached tables (of numbers and addresses for kernels) in device memory.
const MOST_TABLES: usize = 64;

/// `CU_MEMPOOL_ATTR_RELEASE_THRESHOLD`.
const RELEASE_THRESHOLD: c_int = 4;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Context>>> = const { RefCell::new(None) };
}

/// Kernels, libraries and memory of the GPU that this thread has opened; dfdx's `Cuda` has no fields for these. Like
/// `Cuda`, a `Context` cannot move to another thread.
pub(super) struct Context {
    module: Pointer,
    functions: RefCell<HashMap<&'static str, Function>>,
    pub(super) convolutions: Convolutions,
    pub(super) blas: Blas,
    pub(super) staging: RefCell<Staging>,
    tables: RefCell<Vec<Table>>,
    arithmetic: Cell<Arithmetic>,
    /// Whether to wait for the device after every launch ([`SYNC`] is `1`).
    waits: Cell<bool>,
    /// dfdx's device, cloned for further uses, since opening it again would create another stream, event and workspace.
    pub(super) opened: Cuda,
    /// Dropped last: the libraries hold memory of this device.
    pub(super) device: Arc<CudaDevice>,
}

/// A table of numbers and addresses for a kernel, and its copy in device memory.
type Table = (Vec<u64>, Rc<CudaSlice<u64>>);

#[derive(Clone, Copy)]
struct Function {
    address: Pointer,
    /// Bytes of shared memory that the kernel may use.
    shared_bytes: usize,
}

impl Context {
    /// The GPU of this thread.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] before the thread has opened one.
    pub(super) fn current() -> Result<Rc<Self>, DeviceError> {
        let current = CURRENT.with(|current| current.borrow().clone());
        current.ok_or_else(|| DeviceError::Absent("this thread has opened no GPU".into()))
    }

    /// Makes `opened` the GPU of this thread, in place of an earlier one.
    pub(super) fn make_current(opened: &Cuda) -> Result<(), DeviceError> {
        let empty = <Cuda as Storage<f32>>::try_alloc_len(opened, 0)
            .map_err(DeviceError::from_dfdx::<Cuda>)?;
        let device = empty.device();
        let mut module = std::ptr::null_mut();
        // SAFETY: the image is static.
        let code = unsafe { call::load_module(&raw mut module, IMAGE.0.as_ptr().cast()) };
        error::check_loading(code)?;
        let context = Self {
            module,
            functions: RefCell::default(),
            convolutions: Convolutions::default(),
            blas: Blas::open()?,
            staging: RefCell::default(),
            tables: RefCell::default(),
            arithmetic: Cell::default(),
            waits: Cell::new(std::env::var_os(SYNC).is_some_and(|value| value == "1")),
            opened: opened.clone(),
            device,
        };
        context.keep_freed_memory()?;
        CURRENT.with(|current| *current.borrow_mut() = Some(Rc::new(context)));
        Ok(())
    }

    /// Waits for the device if [`SYNC`] is set, and reports an error as a failure of `what`, the action that was just
    /// queued.
    pub(super) fn synchronise_if_asked(&self, what: &str) -> Result<(), DeviceError> {
        if self.waits.get() {
            // SAFETY: the function takes no arguments.
            check(what, unsafe { call::synchronize() })?;
        }
        Ok(())
    }

    #[cfg(all(test, feature = "cuda-stand-in"))]
    pub(super) fn set_waits(&self, waits: bool) {
        self.waits.set(waits);
    }

    /// The arithmetic of products on this thread's GPU.
    pub(super) fn arithmetic(&self) -> Arithmetic {
        self.arithmetic.get()
    }

    pub(super) fn set_arithmetic(&self, arithmetic: Arithmetic) {
        self.arithmetic.set(arithmetic);
    }

    /// Makes CUDA's memory pool keep freed memory: by default every synchronisation returns all of it to the driver.
    ///
    /// dfdx's own cache (`enable_cache`) stays off. It reuses a freed block for exactly the same size only and never
    /// returns it to the pool, so that batches of other sizes would hold memory twice, and the pool's counter of used
    /// bytes would include memory that no tensor holds.
    fn keep_freed_memory(&self) -> Result<(), DeviceError> {
        let (pool, mut threshold) = (self.pool()?, u64::MAX);
        // SAFETY: the number is read from a valid pointer.
        check("the memory pool", unsafe {
            call::set_pool_attribute(pool, RELEASE_THRESHOLD, (&raw mut threshold).cast())
        })
    }

    /// The memory pool of this device.
    pub(super) fn pool(&self) -> Result<Pointer, DeviceError> {
        let mut pool = std::ptr::null_mut();
        // SAFETY: the pool is written through a valid pointer.
        check("the memory pool", unsafe {
            call::memory_pool(&raw mut pool, *self.device.cu_device())
        })?;
        Ok(pool)
    }

    /// The kernel `name`, allowed to use `shared_bytes` of dynamic shared memory.
    pub(super) fn function(
        &self,
        name: &'static str,
        shared_bytes: usize,
    ) -> Result<Pointer, DeviceError> {
        let known = self.functions.borrow().get(name).copied();
        if let Some(function) = known.filter(|function| shared_bytes <= function.shared_bytes) {
            return Ok(function.address);
        }
        let mut function = match known {
            Some(function) => function,
            None => self.look_up(name)?,
        };
        if shared_bytes > function.shared_bytes {
            // SAFETY: the function belongs to the loaded module.
            check(name, unsafe {
                call::set_function_attribute(
                    function.address,
                    MOST_SHARED,
                    i32::try_from(shared_bytes).unwrap_or(i32::MAX),
                )
            })?;
            function.shared_bytes = shared_bytes;
        }
        self.functions.borrow_mut().insert(name, function);
        Ok(function.address)
    }

    fn look_up(&self, name: &'static str) -> Result<Function, DeviceError> {
        let mut address = std::ptr::null_mut();
        let text = CString::new(name).unwrap_or_default();
        // SAFETY: the module is loaded, and the name is a C string.
        check(name, unsafe {
            call::function(&raw mut address, self.module, text.as_ptr())
        })?;
        Ok(Function {
            address,
            shared_bytes: SHARED,
        })
    }

    /// A copy of `table` in device memory: one that an earlier call uploaded, or a new one.
    pub(super) fn table(&self, table: Vec<u64>) -> Result<Rc<CudaSlice<u64>>, DeviceError> {
        let mut tables = self.tables.borrow_mut();
        if let Some((_, known)) = tables.iter().find(|(content, _)| *content == table) {
            return Ok(Rc::clone(known));
        }
        // Not counted: whether the table was uploaded before depends on earlier steps.
        let uploaded = Rc::new(tally::uncounted(|| uploaded(&table))?);
        if tables.len() == MOST_TABLES {
            // Tables contain addresses, which change with the batch size; then the older tables are not used again.
            tables.clear();
        }
        tables.push((table, Rc::clone(&uploaded)));
        Ok(uploaded)
    }

    /// Uninitialised scratch memory for one operation, which must write it before it reads it.
    pub(super) fn scratch<T: DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>, DeviceError> {
        tally::count_tensor::<T>(len);
        // SAFETY: the caller writes before it reads; the type is plain numbers.
        unsafe { self.device.alloc(len.max(1)) }.map_err(|error| {
            let free = || memory().ok().map(|(free, _)| free);
            driver_error(error).with_requested_bytes((len * size_of::<T>()) as u64, free)
        })
    }
}

/// Copies host values into new device memory, without waiting for the device.
///
/// # Errors
/// [`DeviceError::OutOfMemory`].
pub fn uploaded<T: DeviceRepr + Copy>(values: &[T]) -> Result<CudaSlice<T>, DeviceError> {
    let context = Context::current()?;
    let mut slice = context.scratch::<T>(values.len())?;
    let address = *slice.device_ptr_mut();
    // SAFETY: the slice was allocated just above for the values; memory is freed in stream order.
    unsafe { context.staging.borrow_mut().upload(address, values) }?;
    Ok(slice)
}

/// Free and total bytes of the GPU's memory, over all processes.
///
/// # Errors
/// Errors of the driver.
pub fn memory() -> Result<(u64, u64), DeviceError> {
    Context::current()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: both numbers are written through valid pointers.
    check("the device's memory", unsafe {
        call::memory_info(&raw mut free, &raw mut total)
    })?;
    Ok((free as u64, total as u64))
}
