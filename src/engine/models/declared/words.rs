//! The words that name layers in a manifest: arguments, options, and descriptions for users. The JSON Schema of layers
//! is generated from them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// A word that names a layer without inner layers, such as `linear`.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) name: &'static str,
    /// What the value of the word means ("its number of outputs"); `None` for words without a value.
    pub(super) argument: Option<&'static str>,
    pub(super) options: &'static [(&'static str, Kind)],
    /// One sentence about the word for users.
    pub(super) about: &'static str,
}

/// The type of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An integer, or an expression for one.
    Whole,
    /// A floating-point number, or an expression for one.
    Real,
    /// `true`, `false`, or the name of a boolean parameter.
    Truth,
    /// The `name` of another layer.
    Name,
}

use Kind::{Name, Real, Truth, Whole};

/// The words of layers without inner layers.
pub(super) const WORDS: [Word; 28] = [
    word(
        "linear",
        Some("its number of outputs"),
        &[("bias", Truth), ("tie", Name)],
        "`y = x Wᵀ + b` on a row, or on every token; `tie = NAME` shares the weight of the item with that `name`.",
    ),
    word(
        "conv",
        Some("its number of channels"),
        &[
            ("kernel", Whole),
            ("stride", Whole),
            ("dilation", Whole),
            ("groups", Whole),
            ("padding", Whole),
            ("bias", Truth),
            ("tie", Name),
        ],
        "2D convolution with a square `kernel`; `padding` is `dilation * (kernel - 1) / 2` if not given. Depthwise: `groups = \"here.channels\"`.",
    ),
    word(
        "max-pool",
        Some("the size of its window"),
        &[("stride", Whole), ("padding", Whole)],
        "Largest value of every window; `stride` is the window's size if not given.",
    ),
    word(
        "average-pool",
        Some("the size of its window"),
        &[("stride", Whole), ("padding", Whole)],
        "Mean of every window; `stride` is the window's size if not given.",
    ),
    word(
        "global-average-pool",
        None,
        &[],
        "Mean over all pixels: an image becomes a row of its channels.",
    ),
    word(
        "upsample",
        Some("its factor"),
        &[],
        "Repeats every pixel `factor` times in height and width (nearest).",
    ),
    word(
        "flatten",
        None,
        &[],
        "An image or tokens become a row; of an image, channels count first, as in PyTorch.",
    ),
    word("transpose", None, &[], "Exchanges tokens and features."),
    word(
        "patches",
        Some("the side of a patch"),
        &[],
        "Cuts an image into squares: a token for each, of all its values, channels innermost.",
    ),
    word(
        "tokens",
        None,
        &[],
        "A token for every pixel of an image, row by row.",
    ),
    word(
        "embedding",
        Some("its number of features"),
        &[("std", Real)],
        "A learned vector for every token id; initially normal with `std` (1).",
    ),
    word(
        "position-embedding",
        None,
        &[("std", Real)],
        "Adds a learned vector to the token at each position; initially normal with `std` (0.02).",
    ),
    word(
        "class-token",
        None,
        &[("std", Real)],
        "Puts a learned token before all others; initially normal with `std` (0.02).",
    ),
    word("first-token", None, &[], "The first token becomes a row."),
    word(
        "mean-over-tokens",
        None,
        &[],
        "The mean of all tokens becomes a row.",
    ),
    word(
        "attention",
        Some("its number of heads"),
        &[
            ("causal", Truth),
            ("bias", Truth),
            ("dropout", Real),
            ("head-width", Whole),
        ],
        "Multi-head self-attention; `head-width` is `features / heads` if not given.",
    ),
    word(
        "batch-norm",
        None,
        &[("eps", Real), ("momentum", Real)],
        "Batch norm over the channels of an image or the numbers of a row, with running statistics for evaluation.",
    ),
    word(
        "group-norm",
        Some("its number of groups"),
        &[],
        "Group norm over the channels of an image.",
    ),
    word(
        "layer-norm",
        None,
        &[("eps", Real)],
        "Layer norm over the features of a row or token, or the channels of a pixel.",
    ),
    word(
        "rms-norm",
        None,
        &[("eps", Real)],
        "Root-mean-square norm over the features of a row or token, or the channels of a pixel.",
    ),
    word(
        "dropout",
        Some("the probability of a zero"),
        &[],
        "In training, sets values to zero and scales the others.",
    ),
    word("relu", None, &[], "`max(x, 0)`."),
    word("silu", None, &[], "`x · sigmoid(x)`."),
    word("gelu", None, &[], "`x · Φ(x)`, exact."),
    word("tanh", None, &[], "Hyperbolic tangent."),
    word("sigmoid", None, &[], "`1 / (1 + exp(-x))`."),
    word("leaky-relu", None, &[], "`x`, or `0.01 x` below zero."),
    word("softplus", None, &[], "`ln(1 + exp(x))`."),
];

const fn word(
    name: &'static str,
    argument: Option<&'static str>,
    options: &'static [(&'static str, Kind)],
    about: &'static str,
) -> Word {
    Word {
        name,
        argument,
        options,
        about,
    }
}

/// Words that combine other layers: name, keys, and a sentence for users.
pub(super) const COMBINATIONS: [(&str, &[&str], &str); 4] = [
    (
        "residual",
        &["shortcut"],
        "Adds the result of a list of items to its input, or to that of the list `shortcut`.",
    ),
    (
        "parallel",
        &["join"],
        "Several lists of items on the same input; their results are joined by `join`: `concat` (default), `add` or `multiply`.",
    ),
    (
        "repeat",
        &["layers"],
        "The list `layers` so many times; `index` counts them from 0.",
    ),
    (
        "use",
        &[],
        "The items of `[models.NAME.blocks.…]`, or the word or block that a parameter names.",
    ),
];

impl Word {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        WORDS.iter().find(|word| word.name == name)
    }
}

/// The names of all words: layers and combinations of layers.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let combinations = COMBINATIONS.iter().map(|(name, ..)| *name);
    WORDS.iter().map(|word| word.name).chain(combinations)
}

/// The JSON Schema of a list of layers.
pub(super) fn list_schema(generator: &mut SchemaGenerator) -> Schema {
    let items = generator.subschema_for::<LayerSchema>();
    let schema = json!({ "type": "array", "items": items });
    Schema::try_from(schema).unwrap_or_default()
}

/// The schema of one layer, which may contain lists of layers.
struct LayerSchema;

impl JsonSchema for LayerSchema {
    fn schema_name() -> Cow<'static, str> {
        "Layer".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let number = json!({ "type": ["integer", "number", "string"] });
        let list = list_schema(generator).to_value();
        let mut properties = Map::new();
        let mut add = |name: &str, schema: &Value, about: &str| {
            let mut schema = schema.clone();
            if !about.is_empty() {
                schema["description"] = about.into();
            }
            properties.entry(name.to_owned()).or_insert(schema);
        };
        for word in &WORDS {
            let schema = if word.argument.is_some() {
                number.clone()
            } else {
                json!({ "const": true })
            };
            add(word.name, &schema, word.about);
        }
        for (name, _, about) in COMBINATIONS {
            let schema = match name {
                "residual" => list.clone(),
                "parallel" => json!({ "type": "array", "items": list, "minItems": 2 }),
                "use" => json!({ "type": "string" }),
                _ => number.clone(),
            };
            add(name, &schema, about);
        }
        for (name, kind) in WORDS.iter().flat_map(|word| word.options) {
            let schema = match kind {
                Whole | Real => number.clone(),
                Truth => json!({ "type": ["boolean", "string"] }),
                Name => json!({ "type": "string" }),
            };
            add(name, &schema, "");
        }
        add("layers", &list, "What `repeat` repeats.");
        add("shortcut", &list, "The other branch of `residual`.");
        add(
            "join",
            &json!({ "enum": ["concat", "add", "multiply"] }),
            "How `parallel` joins its results.",
        );
        add("name", &json!({ "type": "string" }), "A name, for `tie`.");
        let plain = WORDS.iter().filter(|word| word.argument.is_none());
        let plain: Vec<&str> = plain.map(|word| word.name).collect();
        let schema = json!({
            "description": "A layer: a word, or a table with one word as key and its options. A number may be an expression in quotes.",
            "anyOf": [
                { "type": "string", "enum": plain },
                { "type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1 },
            ],
        });
        Schema::try_from(schema).unwrap_or_default()
    }
}
