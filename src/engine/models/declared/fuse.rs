//! Merges consecutive layers that a single operation can compute.

use super::network::{BatchNormNode, Node};
use crate::ops::Activation;

/// Merges every activation into the preceding operation, if that operation can apply it.
pub(super) fn fused(nodes: Vec<Node>) -> Vec<Node> {
    let mut joined: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let is_applied = match (&node, joined.last_mut()) {
            (Node::Activation(activation), Some(last)) => last.takes(*activation),
            _ => false,
        };
        if !is_applied {
            joined.push(node);
        }
    }
    joined
}

impl Node {
    /// Merges `activation` into this node, and returns whether that was possible.
    fn takes(&mut self, activation: Activation) -> bool {
        let is_of_norms = matches!(activation, Activation::Relu | Activation::Silu);
        let slot = match self {
            Self::Linear(node) => &mut node.activation,
            Self::BatchNorm(node) if is_of_norms => &mut node.activation,
            Self::GroupNorm {
                activation: own, ..
            } if activation == Activation::Silu => own,
            Self::Residual {
                layers,
                activation: own,
                ..
            } if is_of_norms => {
                let is_open = |node: &BatchNormNode| node.activation == Activation::Identity;
                let ends_in_norm =
                    matches!(layers.last(), Some(Self::BatchNorm(node)) if is_open(node));
                if !ends_in_norm {
                    return false;
                }
                own
            }
            _ => return false,
        };
        if *slot != Activation::Identity {
            return false;
        }
        *slot = activation;
        true
    }
}
