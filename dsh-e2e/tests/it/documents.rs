//! The generated documents say what the program says.

use std::path::Path;

use xtask::generate::{documents, stale};

#[test]
fn the_generated_documents_are_up_to_date() {
    let program = Path::new(env!("CARGO_BIN_EXE_dsh-e2e"));
    let stale: Vec<&str> = stale(&xtask::root().unwrap(), &documents(program).unwrap())
        .iter()
        .map(|document| document.path)
        .collect();
    assert!(
        stale.is_empty(),
        "stale: {}; run `cargo xtask gen` and commit what it writes",
        stale.join(", ")
    );
}
