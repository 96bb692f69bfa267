//! [`Activation`]: the functions that are fused into linear layers and norms.

use super::math;

/// A function applied to every value, fused into the operation before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Activation {
    /// `x`.
    #[default]
    Identity,
    /// `x · sigmoid(x)`; PyTorch SiLU.
    Silu,
    /// `max(x, 0)`; PyTorch `ReLU`, whose gradient at 0 is 0.
    Relu,
    /// Hyperbolic tangent; PyTorch `Tanh`.
    Tanh,
    /// `x · Φ(x)` with the exact distribution function; PyTorch `GELU(approximate='none')`.
    Gelu,
}

impl Activation {
    /// Its number in CUDA kernels (`dialect.h`).
    #[cfg(feature = "cuda")]
    #[allow(dead_code, reason = "the operations that fuse an activation take it")]
    pub(in crate::ops) fn code(self) -> i32 {
        match self {
            Self::Identity => 0,
            Self::Silu => 1,
            Self::Relu => 2,
            Self::Tanh => 3,
            Self::Gelu => 4,
        }
    }

    /// Operations per value, forward and backward, by the rule of [`super::Work`].
    pub fn flop(self) -> (usize, usize) {
        match self {
            Self::Identity => (0, 0),
            Self::Silu => (4, 8),
            Self::Relu => (0, 1),
            Self::Tanh => (5, 8),
            Self::Gelu => (5, 9),
        }
    }
}

/// One activation as a type, so that a loop over it has no branch. See `activated!`.
pub(super) trait Activate: Copy + Sync {
    /// The value.
    fn value(self, x: f32) -> f32;
    /// The derivative at `x`, the value before the activation.
    fn slope(self, x: f32) -> f32;
}

macro_rules! activation {
    ($(#[$doc:meta])* $name:ident, |$x:ident| $value:expr, $slope:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(in crate::ops) struct $name;

        impl Activate for $name {
            #[inline(always)]
            fn value(self, $x: f32) -> f32 {
                $value
            }

            #[inline(always)]
            fn slope(self, $x: f32) -> f32 {
                $slope
            }
        }
    };
}

activation!(
    /// [`Activation::Silu`].
    Silu,
    |x| x * math::sigmoid(x),
    {
        let s = math::sigmoid(x);
        s * (1.0 + x * (1.0 - s))
    }
);
activation!(
    /// [`Activation::Relu`].
    Relu,
    // Not `max`, which would swallow NaN.
    |x| if x <= 0.0 { 0.0 } else { x },
    if x <= 0.0 { 0.0 } else { 1.0 }
);
activation!(
    /// [`Activation::Tanh`].
    Tanh,
    |x| math::tanh(x),
    {
        let t = math::tanh(x);
        1.0 - t * t
    }
);
activation!(
    /// [`Activation::Gelu`].
    Gelu,
    |x| x * math::normal_cdf(x),
    math::normal_cdf(x) + x * math::normal_density(x)
);

/// [`Activation::Identity`].
#[derive(Clone, Copy)]
pub(super) struct Identity;

impl Activate for Identity {
    #[inline(always)]
    fn value(self, x: f32) -> f32 {
        x
    }

    #[inline(always)]
    fn slope(self, _x: f32) -> f32 {
        1.0
    }
}

/// Evaluates an expression with the type of an [`Activation`] bound to a name: one compiled loop for each.
macro_rules! activated {
    ($activation:expr, |$name:ident| $body:expr) => {{
        use $crate::ops::activation as kinds;
        match $activation {
            $crate::ops::Activation::Identity => {
                let $name = kinds::Identity;
                $body
            }
            $crate::ops::Activation::Silu => {
                let $name = kinds::Silu;
                $body
            }
            $crate::ops::Activation::Relu => {
                let $name = kinds::Relu;
                $body
            }
            $crate::ops::Activation::Tanh => {
                let $name = kinds::Tanh;
                $body
            }
            $crate::ops::Activation::Gelu => {
                let $name = kinds::Gelu;
                $body
            }
        }
    }};
}
pub(super) use activated;
