use super::*;
use crate::ops::testing;

const TABLE: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

#[test]
fn rows_are_looked_up_and_gradients_added_where_they_came_from() {
    // table = torch.arange(1., 7.).reshape(3, 2); y = F.embedding(torch.tensor([2, 0, 2]), table)
    // y.backward(torch.tensor([[1., 2.], [3., 4.], [5., 6.]]))
    let (y, grads) = testing::backward(&[(&TABLE, [3, 2].into())], &TABLE, |pass, x| {
        embedding(pass, &x[0], &[2, 0, 2])
    });
    assert_eq!(y, [5.0, 6.0, 1.0, 2.0, 5.0, 6.0]);
    assert_eq!(grads[0], [3.0, 4.0, 0.0, 0.0, 6.0, 8.0]);
}

#[test]
fn an_index_outside_the_table_is_refused() {
    let device = testing::device();
    let table = Var::constant(&device, TABLE.to_vec(), [3, 2]).unwrap();
    let error = embedding(&mut Pass::inference(&device), &table, &[0, 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "embedding: index 3 is not in a table of 3 rows"
    );
}

#[test]
fn many_indices_of_one_row_add_up_in_their_order() {
    for (rows, features, count) in [(1, 1, 3), (7, 31, 40), (300, 33, 5), (2, 1025, 9)] {
        let (table, dy) = (
            testing::random_values(rows * features, 1),
            testing::random_values(count * features, 2),
        );
        let indices: Vec<usize> = (0..count).map(|place| place * 5 % rows).collect();
        let leaves = [(table.as_slice(), [rows, features].into())];
        let (y, grads) =
            testing::backward(&leaves, &dy, |pass, x| embedding(pass, &x[0], &indices));
        let (mut expected, mut sums) = (Vec::new(), vec![0.0; rows * features]);
        for (&index, dy) in indices.iter().zip(dy.chunks(features)) {
            let own = index * features..(index + 1) * features;
            expected.extend_from_slice(&table[own.clone()]);
            sums[own]
                .iter_mut()
                .zip(dy)
                .for_each(|(sum, dy)| *sum += dy);
        }
        assert_eq!(y, expected);
        assert_eq!(grads[0], sums);
    }
}
