//! [`Bounds`]: the valid range of a number, from the JSON Schema of its type.

use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Bounds {
    minimum: Option<f64>,
    above: Option<f64>,
    maximum: Option<f64>,
    below: Option<f64>,
}

impl Bounds {
    /// The bounds that the JSON Schema of a number states; `None` if it states none.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let number = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
        let bounds = Self {
            minimum: number("minimum"),
            above: number("exclusiveMinimum"),
            maximum: number("maximum"),
            below: number("exclusiveMaximum"),
        };
        (bounds != Self::default()).then_some(bounds)
    }

    pub(super) fn hold(&self, number: f64) -> bool {
        number.is_finite()
            && self.minimum.is_none_or(|bound| number >= bound)
            && self.above.is_none_or(|bound| number > bound)
            && self.maximum.is_none_or(|bound| number <= bound)
            && self.below.is_none_or(|bound| number < bound)
    }

    /// The bounds as text: "from 0 to 1", "larger than 0", "at least 0 and less than 1".
    pub(super) fn words(&self) -> String {
        let upper = self.maximum.map(|bound| format!("at most {bound}"));
        let upper = upper.or(self.below.map(|bound| format!("less than {bound}")));
        let lower = self.above.map(|bound| format!("larger than {bound}"));
        let lower = lower.or(self.minimum.map(|bound| format!("at least {bound}")));
        match (self.minimum, self.maximum, lower, upper) {
            (Some(minimum), Some(maximum), ..) => format!("from {minimum} to {maximum}"),
            (Some(0.0), None, _, None) => "0 or more".to_owned(),
            (_, _, Some(lower), Some(upper)) => format!("{lower} and {upper}"),
            (_, _, lower, upper) => lower.or(upper).unwrap_or_default(),
        }
    }
}

/// The bounds of a number with this schema as text or, after "each", those of the elements of a list; `None` without
/// bounds.
pub fn range_words(schema: &Value) -> Option<String> {
    let own = Bounds::of(schema).map(|bounds| bounds.words());
    own.or_else(|| {
        Some(format!(
            "each {}",
            Bounds::of(schema.get("items")?)?.words()
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bounds_are_said_in_words() {
        for (schema, words) in [
            (json!({ "minimum": 1 }), "at least 1"),
            (json!({ "minimum": 0 }), "0 or more"),
            (
                json!({ "minimum": 1, "maximum": 1_000_000 }),
                "from 1 to 1000000",
            ),
            (json!({ "exclusiveMinimum": 0 }), "larger than 0"),
            (
                json!({ "minimum": 0, "exclusiveMaximum": 1 }),
                "at least 0 and less than 1",
            ),
            (json!({ "items": { "minimum": 1 } }), "each at least 1"),
        ] {
            assert_eq!(range_words(&schema).as_deref(), Some(words), "{schema}");
        }
        assert_eq!(range_words(&json!({ "type": "string" })), None);
    }

    #[test]
    fn the_ends_belong_to_a_range_as_the_schema_says() {
        let fraction = Bounds::of(&json!({ "minimum": 0, "exclusiveMaximum": 1 })).unwrap();
        let holds = [-0.1, 0.0, 0.5, 1.0, f64::NAN].map(|number| fraction.hold(number));
        assert_eq!(holds, [false, true, true, false, false]);
    }
}
