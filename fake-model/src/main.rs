//! The fake model as a program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    fake_model::main_with(std::env::args_os())
}
