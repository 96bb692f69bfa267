use fieldtrial::{manifest, plan::*};
fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().unwrap();
    let sets: Vec<String> = args.collect();
    let m = match manifest::load(path.as_ref(), &sets) {
        Ok(m) => m,
        Err(e) => {
            println!("{e}");
            return;
        }
    };
    match Plan::new(&m, &World::here(), PlanOptions::default()) {
        Err(e) => println!("{e}"),
        Ok(p) => {
            print!("{}", p.warnings.render_each(false));
            for c in p.cells().take(30) {
                println!("{} {} {:?}", c.spec.key, c.cell_hash, c.feasibility);
            }
            println!("{}", p.len());
        }
    }
}
