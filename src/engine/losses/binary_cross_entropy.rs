//! Mean binary cross-entropy of predicted labels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_f32;

/// Mean binary cross-entropy of predicted labels: [`crate::ops::binary_cross_entropy()`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BinaryCrossEntropySpec {
    /// Factor of each label's loss in rows that have the label, as PyTorch's `pos_weight`: one number above 0 for each
    /// label, in the order of `target`. The number of rows without the label, divided by that of rows with it, balances
    /// both.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = { "type": "number", "exclusiveMinimum": 0 }))]
    pub pos_weight: Vec<f64>,
}

impl BinaryCrossEntropySpec {
    /// Why the loss does not fit data with `labels` labels; `None` if it does.
    pub fn incompatibility(&self, labels: usize) -> Option<String> {
        let count = self.pos_weight.len();
        if ![0, labels].contains(&count) {
            return Some(format!(
                "the dataset has {labels} labels, `pos-weight` of `binary-cross-entropy` has {count} numbers; it needs one for each label"
            ));
        }
        let mut weights = self.pos_weight.iter();
        weights.find_map(|weight| in_f32("pos-weight", *weight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_one_number_for_each_label() {
        let read = |text| toml::from_str::<BinaryCrossEntropySpec>(text).unwrap();
        assert_eq!(read("").incompatibility(3), None);
        assert_eq!(serde_json::to_string(&read("")).unwrap(), "{}");
        let spec = read("pos-weight = [1, 2.5]");
        assert_eq!(spec.incompatibility(2), None);
        let text = spec.incompatibility(3).unwrap();
        assert!(text.contains("3 labels, `pos-weight` of `binary-cross-entropy` has 2 numbers"));
        let text = read("pos-weight = [1, 0]").incompatibility(2).unwrap();
        assert!(text.starts_with("`pos-weight` must be"), "{text}");
    }
}
