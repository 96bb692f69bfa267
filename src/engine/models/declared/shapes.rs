//! The form of the output of every kind of layer, or why its input does not fit.

use super::form::{Form, grouped};
use super::layer::{AttentionLayer, LayerKind};
use crate::datasets::ImageSize;
use crate::ops::PoolOptions;

/// Why an input does not fit a layer.
pub(super) enum ShapeError {
    /// The layer needs another form of input, such as "an image".
    Needs(&'static str),
    /// The sizes of the input do not fit, for this reason (a sentence).
    Because(String),
}

use ShapeError::{Because, Needs};

/// The form of the output of a layer without inner layers.
#[expect(clippy::too_many_lines, reason = "a list of all words")]
pub(super) fn output(kind: &LayerKind, form: Form) -> Result<Form, ShapeError> {
    match *kind {
        LayerKind::Linear { outputs, .. } => match form {
            Form::Row { .. } | Form::Tokens { .. } => Ok(form.with_last(outputs)),
            Form::Image(_) => Err(Needs(
                "a row or tokens (of an image, `flatten` makes a row, and `conv` with `kernel = 1` is linear at every pixel)",
            )),
            Form::Ids { .. } => Err(Needs(
                "a row or tokens (`embedding` makes tokens of numbers)",
            )),
        },
        LayerKind::Conv(ref conv) => {
            let (outputs, groups) = (conv.outputs, conv.groups);
            let size = image(form)?;
            let channels = size.channels;
            if channels % groups != 0 || outputs % groups != 0 {
                return Err(Because(format!(
                    "{} channels in and {} out cannot be split into {} groups",
                    grouped(channels),
                    grouped(outputs),
                    grouped(groups)
                )));
            }
            let extent = conv.dilation.saturating_mul(conv.kernel - 1) + 1;
            let windows = windows(size, extent, conv.stride, conv.padding)?;
            Ok(Form::Image(windows).with_last(outputs))
        }
        LayerKind::MaxPool(options) | LayerKind::AveragePool(options) => {
            let size = image(form)?;
            let PoolOptions {
                kernel, padding, ..
            } = options;
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
            windows(size, kernel, options.stride, padding).map(Form::Image)
        }
        LayerKind::GlobalAveragePool => {
            let features = image(form)?.channels;
            Ok(Form::Row { features })
        }
        LayerKind::Upsample { factor } => {
            let size = image(form)?;
            Ok(Form::Image(ImageSize {
                height: size.height.saturating_mul(factor),
                width: size.width.saturating_mul(factor),
                ..size
            }))
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
            let ImageSize {
                height,
                width,
                channels,
            } = image(form)?;
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
            let size = image(form)?;
            Ok(Form::Tokens {
                tokens: size.height * size.width,
                features: size.channels,
            })
        }
        // `vocabulary` has the number of features until `completed` replaces it.
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
        LayerKind::Attention(AttentionLayer {
            heads, head_width, ..
        }) => {
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
            Form::Image(_) | Form::Row { .. } => Ok(form),
            _ => Err(Needs("channels (an image or a row)")),
        },
        LayerKind::GroupNorm { groups } => {
            let Form::Image(ImageSize { channels, .. }) = form else {
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
    /// Adds the sizes that the input determines: the vocabulary of an embedding, the width of attention heads.
    pub(super) fn with_input_sizes(mut self, form: Form) -> Self {
        match (&mut self, form) {
            (
                Self::Embedding {
                    vocabulary: own, ..
                },
                Form::Ids { vocabulary, .. },
            ) => {
                *own = vocabulary;
            }
            (Self::Attention(own), Form::Tokens { features, .. }) if own.head_width == 0 => {
                own.head_width = features / own.heads;
            }
            _ => {}
        }
        self
    }
}

fn image(form: Form) -> Result<ImageSize, ShapeError> {
    match form {
        Form::Image(size) => Ok(size),
        _ => Err(Needs("an image")),
    }
}

fn tokens(form: Form) -> Result<(usize, usize), ShapeError> {
    match form {
        Form::Tokens { tokens, features } => Ok((tokens, features)),
        Form::Image(_) => Err(Needs(
            "tokens (`tokens` or `patches` makes them of an image)",
        )),
        _ => Err(Needs("tokens")),
    }
}

/// Size of the result of sliding windows of `kernel` × `kernel` pixels over an image.
fn windows(
    size: ImageSize,
    kernel: usize,
    stride: usize,
    padding: usize,
) -> Result<ImageSize, ShapeError> {
    let (height, width, channels) = (size.height, size.width, size.channels);
    let count = |size: usize| {
        let padded = size.saturating_add(padding.saturating_mul(2));
        Some(padded.checked_sub(kernel)? / stride + 1)
    };
    match (count(height), count(width)) {
        (Some(height), Some(width)) => Ok(ImageSize {
            height,
            width,
            channels,
        }),
        _ => Err(Because(format!(
            "a window of {kernel}×{kernel} pixels is larger than the image of {height}×{width} pixels with a padding of {padding}"
        ))),
    }
}

impl Form {
    /// The size called `name` in expressions; `None` if the form has no such size.
    pub(super) fn size(self, name: &str) -> Option<usize> {
        match (self, name) {
            (Self::Image(size), "height") => Some(size.height),
            (Self::Image(size), "width") => Some(size.width),
            (Self::Image(size), "channels") => Some(size.channels),
            (Self::Row { features } | Self::Tokens { features, .. }, "features")
            | (Self::Row { features }, "length") => Some(features),
            (Self::Tokens { tokens, .. } | Self::Ids { tokens, .. }, "tokens" | "length") => {
                Some(tokens)
            }
            _ => None,
        }
    }
}
