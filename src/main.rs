//! The program.
fn main() {
    println!("{:?}", pulp::Arch::new());
}
