//! `train.convolution` sets the algorithm of the convolutions.

use super::*;
use crate::ops::ConvAlgorithm;

fn facts(algorithm: ConvAlgorithm) -> RunFacts {
    let cell = with(|train| {
        (train.epochs, train.batch_size, train.steps_per_epoch) = (1, 4, Some(2));
        train.convolution = algorithm;
    });
    told(of_unet(cell, 4, 0.02)).facts().clone()
}

#[test]
fn each_way_rounds_in_its_own_manner_and_learns_the_same() {
    let direct = facts(ConvAlgorithm::Direct);
    // With so few channels, `auto` chooses direct convolutions.
    let auto = facts(ConvAlgorithm::Auto);
    assert_eq!(auto.weight_checksum, direct.weight_checksum);
    for algorithm in [
        ConvAlgorithm::Winograd2,
        ConvAlgorithm::Winograd4,
        ConvAlgorithm::Winograd5,
    ] {
        let facts = facts(algorithm);
        assert_ne!(
            facts.weight_checksum, direct.weight_checksum,
            "{algorithm:?}"
        );
        let (loss, expected) = (facts.final_loss.unwrap(), direct.final_loss.unwrap());
        assert!(
            (loss / expected - 1.0).abs() < 1e-4,
            "{algorithm:?}: {loss} for {expected}"
        );
    }
}
