//! The output of every kind of layer for an input, or why there is none.

use super::form::{Form, grouped};
use super::layer::LayerKind;

/// Why a layer has no output for an input.
pub(super) enum Refusal {
    /// It reads another form: "an image".
    Needs(&'static str),
    /// A sentence about sizes.
    Because(String),
}

use Refusal::{Because, Needs};

/// The output of a layer that holds no others.
#[expect(clippy::too_many_lines, reason = "a list of all words")]
pub(super) fn output(kind: &LayerKind, form: Form) -> Result<Form, Refusal> {
    match *kind {
        LayerKind::Linear { outputs, .. } => match form {
            Form::Row { .. } | Form::Tokens { .. } => Ok(form.with_last(outputs)),
            Form::Image { .. } => Err(Needs(
                "a row or tokens (of an image, `flatten` makes a row, and `conv` with `kernel = 1` is linear at every pixel)",
            )),
            Form::Ids { .. } => Err(Needs(
                "a row or tokens (`embedding` makes tokens of numbers)",
            )),
        },
        LayerKind::Conv {
            outputs,
            kernel,
            stride,
            padding,
            dilation,
            groups,
            ..
        } => {
            let (height, width, channels) = image(form)?;
            if channels % groups != 0 || outputs % groups != 0 {
                return Err(Because(format!(
                    "{} channels in and {} out cannot be split into {} groups",
                    grouped(channels),
                    grouped(outputs),
                    grouped(groups)
                )));
            }
            let kernel = dilation.saturating_mul(kernel - 1) + 1;
            let (height, width) = windows((height, width), kernel, stride, padding)?;
            Ok(Form::Image {
                height,
                width,
                channels: outputs,
            })
        }
        LayerKind::MaxPool {
            kernel,
            stride,
            padding,
        }
        | LayerKind::AveragePool {
            kernel,
            stride,
            padding,
        } => {
            let (height, width, channels) = image(form)?;
            if kernel > 4096 {
                return Err(Because(
                    "a window has at most 4,096×4,096 pixels".to_owned(),
                ));
            }
            if padding > kernel / 2 {
                return Err(Because(format!(
                    "a padding of {padding} is more than half of the window of {kernel}"
                )));
            }
            let (height, width) = windows((height, width), kernel, stride, padding)?;
            Ok(Form::Image {
                height,
                width,
                channels,
            })
        }
        LayerKind::GlobalAveragePool => {
            let (_, _, channels) = image(form)?;
            Ok(Form::Row { features: channels })
        }
        LayerKind::Upsample { factor } => {
            let (height, width, channels) = image(form)?;
            Ok(Form::Image {
                height: height.saturating_mul(factor),
                width: width.saturating_mul(factor),
                channels,
            })
        }
        LayerKind::Flatten => match form {
            Form::Ids { .. } => Err(Needs("an image or tokens")),
            form => Ok(Form::Row {
                features: form.len(),
            }),
        },
        LayerKind::Transpose => {
            let (tokens, features) = tokens(form)?;
            Ok(Form::Tokens {
                tokens: features,
                features: tokens,
            })
        }
        LayerKind::Patches { size } => {
            let (height, width, channels) = image(form)?;
            if height % size != 0 || width % size != 0 {
                return Err(Because(format!(
                    "{height}×{width} pixels cannot be cut into squares of {size}×{size}"
                )));
            }
            Ok(Form::Tokens {
                tokens: (height / size) * (width / size),
                features: size * size * channels,
            })
        }
        LayerKind::Tokens => {
            let (height, width, channels) = image(form)?;
            Ok(Form::Tokens {
                tokens: height * width,
                features: channels,
            })
        }
        // Until it is completed, `vocabulary` holds the features.
        LayerKind::Embedding { vocabulary, .. } => match form {
            Form::Ids { tokens, .. } => Ok(Form::Tokens {
                tokens,
                features: vocabulary,
            }),
            _ => Err(Needs("the numbers of tokens, as `text` data has")),
        },
        LayerKind::PositionEmbedding { .. } => tokens(form).map(|_| form),
        LayerKind::ClassToken { .. } => {
            let (tokens, features) = tokens(form)?;
            Ok(Form::Tokens {
                tokens: tokens + 1,
                features,
            })
        }
        LayerKind::FirstToken | LayerKind::MeanOverTokens => {
            let (_, features) = tokens(form)?;
            Ok(Form::Row { features })
        }
        LayerKind::Attention {
            heads, head_width, ..
        } => {
            let (_, features) = tokens(form)?;
            if head_width == 0 && features % heads != 0 {
                return Err(Because(format!(
                    "{} features cannot be split into {} heads; choose another number or give `head-width`",
                    grouped(features),
                    grouped(heads)
                )));
            }
            Ok(form)
        }
        LayerKind::BatchNorm { .. } => match form {
            Form::Image { .. } | Form::Row { .. } => Ok(form),
            _ => Err(Needs("channels (an image or a row)")),
        },
        LayerKind::GroupNorm { groups } => {
            let Form::Image { channels, .. } = form else {
                return Err(Needs("channels"));
            };
            if channels % groups != 0 {
                return Err(Because(format!(
                    "{} channels cannot be split into {} groups",
                    grouped(channels),
                    grouped(groups)
                )));
            }
            Ok(form)
        }
        LayerKind::LayerNorm { .. }
        | LayerKind::RmsNorm { .. }
        | LayerKind::Dropout { .. }
        | LayerKind::Activation { .. }
        | LayerKind::Residual { .. }
        | LayerKind::Parallel { .. }
        | LayerKind::Sequential { .. } => match form {
            Form::Ids { .. } => Err(Needs("numbers (`embedding` makes them of tokens)")),
            form => Ok(form),
        },
    }
}

impl LayerKind {
    /// The kind with sizes that its input decides.
    pub(super) fn completed(mut self, form: Form) -> Self {
        match (&mut self, form) {
            (
                Self::Embedding {
                    vocabulary: own, ..
                },
                Form::Ids { vocabulary, .. },
            ) => {
                *own = vocabulary;
            }
            (
                Self::Attention {
                    heads, head_width, ..
                },
                Form::Tokens { features, .. },
            ) if *head_width == 0 => *head_width = features / *heads,
            _ => {}
        }
        self
    }
}

fn image(form: Form) -> Result<(usize, usize, usize), Refusal> {
    match form {
        Form::Image {
            height,
            width,
            channels,
        } => Ok((height, width, channels)),
        _ => Err(Needs("an image")),
    }
}

fn tokens(form: Form) -> Result<(usize, usize), Refusal> {
    match form {
        Form::Tokens { tokens, features } => Ok((tokens, features)),
        Form::Image { .. } => Err(Needs(
            "tokens (`tokens` or `patches` makes them of an image)",
        )),
        _ => Err(Needs("tokens")),
    }
}

/// Number of windows of `kernel` pixels in each direction.
fn windows(
    (height, width): (usize, usize),
    kernel: usize,
    stride: usize,
    padding: usize,
) -> Result<(usize, usize), Refusal> {
    let count = |size: usize| {
        let padded = size.saturating_add(padding.saturating_mul(2));
        Some(padded.checked_sub(kernel)? / stride + 1)
    };
    match (count(height), count(width)) {
        (Some(height), Some(width)) => Ok((height, width)),
        _ => Err(Because(format!(
            "a window of {kernel}×{kernel} pixels is larger than the image of {height}×{width} pixels with a padding of {padding}"
        ))),
    }
}

impl Form {
    /// The size that expressions call `name`.
    pub(super) fn size(self, name: &str) -> Option<usize> {
        match (self, name) {
            (Self::Image { height, .. }, "height") => Some(height),
            (Self::Image { width, .. }, "width") => Some(width),
            (Self::Image { channels, .. }, "channels") => Some(channels),
            (Self::Row { features } | Self::Tokens { features, .. }, "features")
            | (Self::Row { features }, "length") => Some(features),
            (Self::Tokens { tokens, .. } | Self::Ids { tokens, .. }, "tokens" | "length") => {
                Some(tokens)
            }
            _ => None,
        }
    }
}
