//! The reference agent as a program; everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    reference::main_with(std::env::args_os())
}
