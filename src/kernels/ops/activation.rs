//! [`Activation`]: the functions of [`super::activate()`], which linear layers, sums and norms also apply to their
//! results.

use serde::{Deserialize, Serialize};

use super::math;

/// A function applied to every value, by [`super::activate()`] or fused into the operation before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
    /// `1 / (1 + e⁻ˣ)`; PyTorch `Sigmoid`.
    Sigmoid,
    /// `x` above 0, `0.01 x` elsewhere; PyTorch `LeakyReLU()`, whose derivative at 0 is 0.01.
    LeakyRelu,
    /// `ln(1 + eˣ)`, which above 20 is `x` in single precision; PyTorch `Softplus()`.
    Softplus,
}

/// The derivative of [`Activation::LeakyRelu`] below 0; PyTorch's default.
const LEAK: f32 = 0.01;

impl Activation {
    /// PyTorch's name of the function in `torch.nn.functional`, under which [`super::activate()`] is recorded.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Silu => "silu",
            Self::Relu => "relu",
            Self::Tanh => "tanh",
            Self::Gelu => "gelu",
            Self::Sigmoid => "sigmoid",
            Self::LeakyRelu => "leaky_relu",
            Self::Softplus => "softplus",
        }
    }

    /// Whether the derivative follows from the result alone, without `x`.
    pub(super) fn has_slope_from_result(self) -> bool {
        matches!(
            self,
            Self::Relu | Self::Tanh | Self::Sigmoid | Self::LeakyRelu
        )
    }

    /// Floating-point operations per value, forward and backward from `x`, by the rule of [`super::Flops`].
    pub fn forward_backward_flop(self) -> (usize, usize) {
        match self {
            Self::Identity => (0, 0),
            Self::Silu => (4, 8),
            Self::Relu => (0, 1),
            Self::Tanh => (5, 8),
            Self::Gelu => (5, 9),
            Self::Sigmoid => (3, 6),
            Self::LeakyRelu => (1, 1),
            Self::Softplus => (3, 4),
        }
    }
}

/// The activation's number in CUDA kernels (`dialect.h`): its index in the enum.
#[cfg(feature = "cuda")]
impl From<Activation> for crate::device::cuda::Value {
    fn from(activation: Activation) -> Self {
        Self::I32(activation as i32)
    }
}

/// An activation as a type, so that loops are compiled per activation and have no branch inside. See `activated!`.
pub(super) trait Activate: Copy + Sync {
    /// The activation of `x`.
    fn value(self, x: f32) -> f32;
    /// The derivative at `x`, the value before the activation.
    fn slope(self, x: f32) -> f32;
    /// The derivative from what backward keeps: the result `y` where [`Activation::has_slope_from_result`], else `x`.
    fn slope_from_kept(self, kept: f32) -> f32;
}

/// Defines a type that implements [`Activate`], from value and derivative at `x`, and the derivative from the result if
/// there is a formula of its own; without one, the formula for `x` is used.
macro_rules! activation {
    ($(#[$doc:meta])* $name:ident, |$x:ident| $value:expr, $slope:expr) => {
        activation!($(#[$doc])* $name, |$x| $value, $slope, |$x| $slope);
    };
    ($(#[$doc:meta])* $name:ident, |$x:ident| $value:expr, $slope:expr, |$kept:ident| $from_kept:expr) => {
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

            #[inline(always)]
            fn slope_from_kept(self, $kept: f32) -> f32 {
                $from_kept
            }
        }
    };
}

activation!(
    /// [`Activation::Silu`] as a type.
    Silu,
    |x| x * math::sigmoid(x),
    {
        let s = math::sigmoid(x);
        s * (1.0 + x * (1.0 - s))
    }
);
activation!(
    /// [`Activation::Relu`] as a type.
    Relu,
    // `max` is not used, because it would turn NaN into 0.
    |x| if x <= 0.0 { 0.0 } else { x },
    // `x` and the result are positive together, so that one formula serves both.
    if x <= 0.0 { 0.0 } else { 1.0 }
);
activation!(
    /// [`Activation::Tanh`] as a type.
    Tanh,
    |x| math::tanh(x),
    {
        let t = math::tanh(x);
        1.0 - t * t
    },
    |y| 1.0 - y * y
);
activation!(
    /// [`Activation::Gelu`] as a type.
    Gelu,
    |x| x * math::normal_cdf_and_density(x).0,
    {
        let (cdf, density) = math::normal_cdf_and_density(x);
        cdf + x * density
    }
);
activation!(
    /// [`Activation::Sigmoid`] as a type.
    Sigmoid,
    |x| math::sigmoid(x),
    {
        let s = math::sigmoid(x);
        s * (1.0 - s)
    },
    |y| y * (1.0 - y)
);
activation!(
    /// [`Activation::LeakyRelu`] as a type.
    LeakyRelu,
    |x| if x > 0.0 { x } else { LEAK * x },
    // The derivative of `LeakyRelu`.
    if x > 0.0 { 1.0 } else { LEAK }
);
activation!(
    /// [`Activation::Softplus`] as a type.
    Softplus,
    |x| math::softplus(x),
    math::sigmoid(x)
);

/// [`Activation::Identity`] as a type.
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

    #[inline(always)]
    fn slope_from_kept(self, _kept: f32) -> f32 {
        1.0
    }
}

/// Evaluates an expression with a name bound to the type that computes an [`Activation`], so that a loop in it is
/// compiled for each activation.
macro_rules! activated {
    ($activation:expr, |$name:ident| $body:expr) => {
        activated!(
            $activation, |$name| $body,
            Identity Silu Relu Tanh Gelu Sigmoid LeakyRelu Softplus
        )
    };
    ($activation:expr, |$name:ident| $body:expr, $($kind:ident)*) => {
        match $activation {
            $($crate::ops::Activation::$kind => {
                let $name = $crate::ops::activation::$kind;
                $body
            })*
        }
    };
}
pub(super) use activated;
