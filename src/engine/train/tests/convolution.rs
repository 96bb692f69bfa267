//! `train.convolution` reaches the convolutions.

use super::*;
use crate::losses::NoiseMseSpec;
use crate::models::DdpmUnetSpec;
use crate::ops::Convolution;

fn facts(algorithm: Convolution) -> RunFacts {
    let mut cell = with(|train| {
        (train.epochs, train.batch_size, train.steps_per_epoch) = (1, 4, Some(2));
        train.convolution = algorithm;
    });
    cell.dataset = Arc::new(DatasetSpec::Digits(DigitsSpec::default()));
    cell.loss = Arc::new(LossSpec::NoiseMse(NoiseMseSpec::default()));
    cell.model = Arc::new(ModelSpec::DdpmUnet(DdpmUnetSpec {
        base_channels: 4,
        embed: 8,
        heads: 2,
        groups: 2,
        ..DdpmUnetSpec::default()
    }));
    Arc::make_mut(&mut cell.validation).fraction = Some(0.02);
    told(cell).facts().clone()
}

#[test]
fn each_way_rounds_in_its_own_manner_and_learns_the_same() {
    let direct = facts(Convolution::Direct);
    // With so few channels, convolutions are direct.
    let auto = facts(Convolution::Auto);
    assert_eq!(auto.weight_checksum, direct.weight_checksum);
    for algorithm in [
        Convolution::Winograd2,
        Convolution::Winograd4,
        Convolution::Winograd5,
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
