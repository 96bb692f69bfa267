//! [`Section`]: a section of a cell that is a single table, and the part of it that enters the cell hash.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::loader::LoaderSpec;

use super::cell::{TrainSpec, ValidationSpec};
use super::identity::combine;
use super::inputs::PlanInputs;
use super::settings::{LimitsSpec, MeasureSpec};

/// JSON texts of the values of a section, by key.
type Texts = BTreeMap<String, String>;

/// A section that is a single table.
pub(super) trait Section:
    Clone + Default + Serialize + DeserializeOwned + JsonSchema
{
    /// The section's name.
    const NAME: &'static str;

    /// Removes from `texts` all keys that do not determine a cell's results, and keys that are new in later versions if
    /// they have their default, so that hashes of earlier versions stay valid.
    fn keep_hashed(&self, texts: &mut Texts);

    /// Digest over the keys that decide results, sorted by name.
    fn digest(&self) -> String {
        let json = serde_json::to_string(self).unwrap_or_default();
        let keys: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&json).unwrap_or_default();
        let texts = keys.into_iter();
        let mut texts = texts
            .map(|(key, text)| (key, text.get().to_owned()))
            .collect();
        self.keep_hashed(&mut texts);
        combine(texts.iter().map(|(key, text)| (&**key, &**text)))
    }
}

impl Section for TrainSpec {
    const NAME: &'static str = "train";

    fn keep_hashed(&self, texts: &mut Texts) {
        // Optimizer and schedule are units with separate digests.
        texts.remove("optimizer");
        texts.remove("schedule");
        if self.convolution.is_auto() {
            texts.remove("convolution");
        }
        // Initial weights are hashed by content, not by path.
        if let Some(path) = &self.init_from {
            let content = PlanInputs::file_digest(path).unwrap_or_else(|| "absent".to_owned());
            texts.insert("init-from".to_owned(), content);
        }
    }
}

impl Section for LoaderSpec {
    const NAME: &'static str = "loader";

    fn keep_hashed(&self, _texts: &mut Texts) {}
}

impl Section for ValidationSpec {
    const NAME: &'static str = "validation";

    fn keep_hashed(&self, texts: &mut Texts) {
        for key in ["ensemble", "sampling", "selection", "verification"] {
            if texts.get(key).is_some_and(|text| text == "null") {
                texts.remove(key);
            }
        }
        if !self.cycle {
            texts.remove("cycle");
        }
        // An unset fraction is hashed as 0, its default in earlier versions.
        if self.fraction.is_none() {
            texts.insert("fraction".to_owned(), "0.0".to_owned());
        }
    }
}

impl Section for MeasureSpec {
    const NAME: &'static str = "measure";

    fn keep_hashed(&self, texts: &mut Texts) {
        texts.clear();
    }
}

impl Section for LimitsSpec {
    const NAME: &'static str = "limits";

    // Limits of time and memory decide whether a run ends, not what it computes.
    fn keep_hashed(&self, texts: &mut Texts) {
        texts.retain(|key, _| key == "max-loss");
    }
}
