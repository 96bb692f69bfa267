//! Expands items to layers with all sizes: substitutes parameters, infers shapes, and unrolls blocks and repetitions.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::form::{Form, grouped};
use super::items::{Body, Item, Items, Number, Settings};
use super::layer::{Join, Layer, LayerKind};
use super::words::Word;
use super::{LayersSpec, Mistake};
use crate::datasets::Target;

/// Largest number of layers; more are probably a mistake in a repetition.
const MOST_LAYERS: usize = 20_000;

/// Largest number of values of one tensor.
const MOST_VALUES: u128 = 1 << 40;

/// Expands `items` for data of these forms of features and targets.
///
/// # Errors
/// All mistakes in shapes and sizes, without duplicates.
pub(super) fn expand(
    spec: &LayersSpec,
    items: &Items,
    (input, target): (Form, Target),
) -> Result<Vec<Layer>, Vec<Mistake>> {
    let mut expander = Expander {
        spec,
        items,
        data: input,
        target,
        mistakes: Vec::new(),
        named: BTreeMap::new(),
        count: 0,
        blocks: Vec::new(),
    };
    let start = State {
        form: Some(input),
        index: None,
    };
    let (layers, output) = expander.list(&items.layers, "layers", start, "");
    if let Some(output) = output {
        expander.check_output(output);
    }
    if expander.mistakes.is_empty() {
        return Ok(layers);
    }
    let mut all: Vec<Mistake> = Vec::new();
    for mistake in expander.mistakes {
        if !all.contains(&mistake) {
            all.push(mistake);
        }
    }
    Err(all)
}

/// State of the network before a layer.
#[derive(Clone, Copy)]
pub(super) struct State {
    /// Form of the next layer's input; `None` if it is unknown after a mistake.
    pub(super) form: Option<Form>,
    /// Index of the current repetition in `repeat`, from 0; `None` outside of `repeat`.
    pub(super) index: Option<i64>,
}

/// A weight with a name in the manifest, which other layers can share.
pub(super) struct NamedWeight {
    pub(super) parameter: String,
    pub(super) shape: Vec<usize>,
}

pub(super) struct Expander<'a> {
    pub(super) spec: &'a LayersSpec,
    pub(super) items: &'a Items,
    pub(super) data: Form,
    pub(super) target: Target,
    pub(super) mistakes: Vec<Mistake>,
    /// Weights that layers can share, by the `name` of the layer that owns them.
    pub(super) named: BTreeMap<String, NamedWeight>,
    count: usize,
    /// Names of the blocks that are being inserted, to detect a block that contains itself.
    blocks: Vec<String>,
}

/// Error: a mistake was found and added to [`Expander::mistakes`].
pub(super) struct MistakeNoted;

pub(super) type Found<T> = Result<T, MistakeNoted>;

impl Expander<'_> {
    pub(super) fn note(&mut self, path: &[String], message: String) -> MistakeNoted {
        self.mistakes.push(Mistake::new(path, message));
        MistakeNoted
    }

    /// Expands a list of layers, which get the names `prefix.0`, `prefix.1` …; messages call the preceding layer
    /// `after`. Returns the layers and the form of the output, `None` after a mistake.
    fn list(
        &mut self,
        items: &[Item],
        prefix: &str,
        mut state: State,
        after: &str,
    ) -> (Vec<Layer>, Option<Form>) {
        let mut layers = Vec::new();
        let mut after = after.to_owned();
        for (index, item) in items.iter().enumerate() {
            if self.count > MOST_LAYERS {
                return (layers, None);
            }
            let name = format!("{prefix}.{index}");
            let found = self.item(item, name, state, &after);
            state.form = found.as_ref().map(|layer| layer.output);
            layers.extend(found);
            item.word().clone_into(&mut after);
        }
        (layers, state.form)
    }

    /// Expands one item to a layer called `name`; `None` after a mistake.
    fn item(&mut self, item: &Item, name: String, state: State, after: &str) -> Option<Layer> {
        self.count += 1;
        if self.count > MOST_LAYERS {
            self.too_many(&item.path);
            return None;
        }
        let (kind, output) = match &item.body {
            Body::Word(settings) => self.word(item, settings, state, after),
            Body::Residual { layers, shortcut } => {
                self.residual(item, layers, shortcut, &name, state, after)
            }
            Body::Parallel { branches, join } => {
                self.parallel(item, branches, *join, &name, state, after)
            }
            Body::Repeat { count, layers } => self.repeat(count, layers, &name, state, after),
            Body::Use(what) => return self.insertion(item, what, name, state, after),
        }
        .ok()?;
        let layer = Layer {
            name,
            kind,
            input: state.form?,
            output: output?,
        };
        self.keep_name(item, &layer);
        self.check_size(item, &layer)?;
        Some(layer)
    }

    fn too_many(&mut self, path: &[String]) -> MistakeNoted {
        let most = grouped(MOST_LAYERS);
        self.note(path, format!("the model has more than {most} layers"))
    }

    fn keep_name(&mut self, item: &Item, layer: &Layer) {
        let Some(name) = &item.name else { return };
        let own = layer.parameters().into_iter().next();
        if let Some(weight) = own.filter(|own| own.name == "weight") {
            let named = NamedWeight {
                parameter: format!("{}.weight", layer.name),
                shape: weight.shape,
            };
            self.named.insert(name.clone(), named);
        }
    }

    fn check_size(&mut self, item: &Item, layer: &Layer) -> Option<()> {
        let values = |shape: &[usize]| -> u128 {
            let product = shape.iter().map(|size| *size as u128);
            product.fold(1, u128::saturating_mul)
        };
        let shape = layer.output.shape(1);
        let parameters = layer.parameters();
        let tensors = parameters.iter().map(|one| one.shape.as_slice());
        let is_large = |shape: &[usize]| values(shape) > MOST_VALUES;
        if is_large(shape.dims()) || tensors.into_iter().any(is_large) {
            let word = item.word();
            self.note(&item.path, format!("`{word}` is too large for any machine"));
            return None;
        }
        Some(())
    }

    fn insertion(
        &mut self,
        item: &Item,
        what: &str,
        name: String,
        state: State,
        after: &str,
    ) -> Option<Layer> {
        let path = item.path_of("use");
        let chosen = match self.spec.parameters.get(what) {
            Some(Json::String(chosen)) => chosen.clone(),
            Some(_) => {
                let message = format!("the parameter `{what}` names no layer and no block");
                self.note(&path, message);
                return None;
            }
            None => what.to_owned(),
        };
        if let Some(block) = self.items.blocks.get(&chosen) {
            if self.blocks.contains(&chosen) {
                self.note(&path, format!("the block `{chosen}` contains itself"));
                return None;
            }
            self.blocks.push(chosen);
            let (layers, output) = self.list(block, &name, state, after);
            self.blocks.pop();
            return Some(Layer {
                name,
                kind: LayerKind::Sequential { layers },
                input: state.form?,
                output: output?,
            });
        }
        let Some(word) = Word::find(&chosen) else {
            let message = format!("there is no layer and no block `{chosen}`");
            self.note(&path, message);
            return None;
        };
        if let Some(argument) = word.argument {
            self.note(
                &path,
                format!("`{chosen}` needs {argument}; put it in a block"),
            );
            return None;
        }
        let item = Item {
            path: item.path.clone(),
            name: None,
            body: Body::Word(Box::new(Settings::of(word))),
        };
        self.item(&item, name, state, after)
    }

    fn repeat(
        &mut self,
        count: &Number,
        items: &[Item],
        name: &str,
        state: State,
        after: &str,
    ) -> Found<(LayerKind, Option<Form>)> {
        let times = self.whole(count, state, 0)?;
        let (mut layers, mut form) = (Vec::new(), state.form);
        for index in 0..times {
            if self.count > MOST_LAYERS {
                return Err(self.too_many(&count.path));
            }
            let own = State {
                form,
                index: i64::try_from(index).ok(),
            };
            let name = format!("{name}.{index}");
            let (inner, output) = self.list(items, &name, own, after);
            if let (Some(input), Some(output)) = (form, output) {
                layers.push(Layer {
                    name,
                    kind: LayerKind::Sequential { layers: inner },
                    input,
                    output,
                });
            }
            form = output;
            self.count += 1;
        }
        Ok((LayerKind::Sequential { layers }, form))
    }

    fn residual(
        &mut self,
        item: &Item,
        layers: &[Item],
        shortcut: &[Item],
        name: &str,
        state: State,
        after: &str,
    ) -> Found<(LayerKind, Option<Form>)> {
        let (layers, own) = self.list(layers, &format!("{name}.layers"), state, after);
        let (shortcut, other) = self.list(shortcut, &format!("{name}.shortcut"), state, after);
        if let (Some(own), Some(other)) = (own, other)
            && own != other
        {
            let message = if shortcut.is_empty() {
                format!(
                    "`residual` adds its result to its input, but the result is {own} and the input {other}"
                )
            } else {
                format!(
                    "`residual` adds two results, but one is {own} and that of `shortcut` {other}"
                )
            };
            let mut mistake = Mistake::new(&item.path_of("residual"), message).of_key();
            if shortcut.is_empty() {
                mistake = mistake.help("layers in `shortcut = [ … ]` can change the input's form");
            }
            self.mistakes.push(mistake);
            return Err(MistakeNoted);
        }
        Ok((LayerKind::Residual { layers, shortcut }, own.and(other)))
    }

    fn parallel(
        &mut self,
        item: &Item,
        branches: &[Vec<Item>],
        join: Join,
        name: &str,
        state: State,
        after: &str,
    ) -> Found<(LayerKind, Option<Form>)> {
        let mut lists = Vec::new();
        let mut forms = Vec::new();
        for (index, branch) in branches.iter().enumerate() {
            let prefix = format!("{name}.branches.{index}");
            let (layers, form) = self.list(branch, &prefix, state, after);
            lists.push(layers);
            forms.push(form);
        }
        let forms: Option<Vec<Form>> = forms.into_iter().collect();
        let output = forms.as_ref().and_then(|forms| joined(forms, join));
        if let (Some(forms), None) = (&forms, output) {
            let shown: Vec<String> = forms.iter().map(Form::to_string).collect();
            let message = format!("`{}` cannot join {}", join.name(), shown.join(" and "));
            let path = item.path_of("parallel");
            self.mistakes.push(Mistake::new(&path, message).of_key());
            return Err(MistakeNoted);
        }
        let branches = lists;
        Ok((LayerKind::Parallel { branches, join }, output))
    }
}

impl Item {
    pub(super) fn word(&self) -> &str {
        match &self.body {
            Body::Word(settings) => settings.word.name,
            Body::Residual { .. } => "residual",
            Body::Parallel { .. } => "parallel",
            Body::Repeat { .. } => "repeat",
            Body::Use(name) => name,
        }
    }

    /// The path of the item's value at `key`. If the item is a plain word, it has no such value, and the last key is
    /// ignored.
    pub(super) fn path_of(&self, key: &str) -> Vec<String> {
        let mut path = self.path.clone();
        path.push(key.to_owned());
        path
    }
}

impl Join {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Concat => "concat",
            Self::Add => "add",
            Self::Multiply => "multiply",
        }
    }
}

/// The form of the joined results of branches; `None` if their forms do not fit together.
fn joined(forms: &[Form], join: Join) -> Option<Form> {
    let first = *forms.first()?;
    match join {
        Join::Concat => {
            let is_like = |form: &Form| {
                !matches!(form, Form::Ids { .. }) && form.with_last(1) == first.with_last(1)
            };
            let last = forms.iter().map(|form| form.last()).sum();
            forms.iter().all(is_like).then(|| first.with_last(last))
        }
        Join::Add | Join::Multiply => {
            let largest = *forms.iter().max_by_key(|form| form.len())?;
            let is_spread = |form: Form| match (form, largest) {
                (Form::Row { features }, Form::Image(size)) => features == size.channels,
                _ => false,
            };
            let fits = |form: &Form| *form == largest || is_spread(*form);
            let is_numeric = !matches!(largest, Form::Ids { .. });
            (is_numeric && forms.iter().all(fits)).then_some(largest)
        }
    }
}
