//! The grid sampler: every combination of values, in order.

use crate::plan::search::{Point, Space};

use super::unit;

/// Combination `number`, counted like an odometer: the last parameter changes fastest.
///
/// An inactive parameter does not multiply the number of combinations, so no point occurs twice. The planner refuses
/// ranges without a step, which have infinitely many values.
pub(super) fn point(space: &Space, number: usize) -> Option<Point> {
    if number >= size(space) {
        return None;
    }
    let mut point = Point::default();
    let mut rest = number;
    while point.values.len() < space.parameters.len() {
        rest = set_next(space, &mut point, rest);
    }
    Some(point)
}

/// Returns the number of combinations.
pub(super) fn size(space: &Space) -> usize {
    behind(space, &mut Point::default())
}

/// Sets the next parameter of `point`, for combination number `rest` of the remaining parameters; returns the
/// combination number for the parameters after it.
fn set_next(space: &Space, point: &mut Point, mut rest: usize) -> usize {
    let index = point.values.len();
    if !space.is_active(index, point) {
        point.values.push(None);
        return rest;
    }
    let domain = &space.parameters[index].domain;
    let last = unit::levels(domain).unwrap_or(1).saturating_sub(1);
    if !is_condition(space, index) {
        point.values.push(Some(unit::level(domain, 0)));
        let each = behind(space, point).max(1);
        point.values[index] = Some(unit::level(domain, (rest / each).min(last)));
        return rest % each;
    }
    for level in 0..=last {
        point.values.push(Some(unit::level(domain, level)));
        let each = behind(space, point);
        if rest < each || level == last {
            break;
        }
        rest -= each;
        point.values.pop();
    }
    rest
}

/// Returns the number of combinations of the parameters after those of `point`.
fn behind(space: &Space, point: &mut Point) -> usize {
    let size = space
        .count_points_from(point.values.len(), point)
        .unwrap_or(0);
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Whether another parameter is active only for some values of this one.
fn is_condition(space: &Space, index: usize) -> bool {
    let mut conditions = space.parameters.iter().filter_map(|one| one.when.as_ref());
    conditions.any(|condition| condition.parameter == index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::search::Value;
    use crate::search::sampler::testing::{choice, float_step, int, space, when};

    fn all(space: &Space) -> Vec<Point> {
        (0..).map_while(|number| point(space, number)).collect()
    }

    #[test]
    fn the_last_parameter_turns_fastest_and_every_combination_comes_once() {
        let space = space([choice(2), int(4, 8, 2), float_step(0.5, 1.0, 0.5)]);
        let points = all(&space);
        assert_eq!(size(&space), 12);
        assert_eq!(points.len(), 12);
        let seventh = [
            Value::Choice { choice: 1 },
            Value::Int(4),
            Value::Float(1.0),
        ];
        assert_eq!(points[7].values, seventh.map(Some));
        for (i, point) in points.iter().enumerate() {
            assert!(!points[i + 1..].contains(point));
        }
    }

    #[test]
    fn what_does_not_exist_multiplies_nothing() {
        // Choice 0 activates none of the others, 1 the first, 2 both; the last one is unconditional.
        let space = space([choice(3), choice(2), int(1, 3, 1), choice(2)]);
        let space = when(when(space, 1, 0, &[1, 2]), 2, 0, &[2]);
        let points = all(&space);
        assert_eq!(size(&space), (1 + 2 + 6) * 2);
        assert_eq!(points.len(), 18);
        for (i, point) in points.iter().enumerate() {
            assert_eq!(point.get(1).is_some(), point.choice(0) != Some(0));
            assert_eq!(point.get(2).is_some(), point.choice(0) == Some(2));
            assert!(!points[i + 1..].contains(point));
        }
    }

    #[test]
    fn conditions_may_hang_on_conditional_choices() {
        let space = space([choice(2), choice(2), choice(5)]);
        let space = when(when(space, 1, 0, &[1]), 2, 1, &[1]);
        assert_eq!(size(&space), 1 + 1 + 5);
        assert_eq!(all(&space).len(), 7);
    }

    #[test]
    fn a_space_beyond_counting_has_a_limit_all_the_same() {
        let space = space([int(0, i64::MAX, 1), int(0, i64::MAX, 1)]);
        assert_eq!(size(&space), usize::MAX);
        assert!(point(&space, 12_345).is_some());
    }
}
