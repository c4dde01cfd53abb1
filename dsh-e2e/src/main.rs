//! `dsh-e2e`: the conformance suite and end-to-end harness for session identity in DeepSeek Harness.
//!
//! Dispatch only: called as `fake-plumb` it is the built-in plumb; a hidden verb is one of the harness's own helpers;
//! anything else is the command line. It maps a result to an exit code and decides nothing.

mod adequacy;
mod check;
mod cli;
mod deviations;
mod doctor;
mod enclosed;
mod explain;
mod hidden;
mod installed;
mod judge;
mod list;
mod matrix;
mod model_host;
mod plumb_host;
mod provision;
mod refusal;
mod run;
mod sandbox;

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use harness::exit::Exit;

use cli::{Cli, Verb};

/// The name under which the built-in plumb is called.
const FAKE_PLUMB: &str = "fake-plumb";

fn main() -> ExitCode {
    let called = std::env::args_os().next().unwrap_or_default();
    if Path::new(&called).file_name() == Some(OsStr::new(FAKE_PLUMB)) {
        return fake_plumb::main_with(std::env::args_os());
    }
    if Path::new(&called).file_name() == Some(OsStr::new(adequacy::DO_NOTHING)) {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are answers, everything else is a refusal; both are clap's own words.
            let code = if error.use_stderr() {
                Exit::Refused
            } else {
                Exit::AsExpected
            };
            error.print().ok();
            return code.into();
        }
    };
    let exit = match cli.verb {
        Verb::Hidden(verb) => return hidden::main(verb),
        Verb::Run(options) if options.sandbox => sandbox::main(&options),
        Verb::Run(options) => run::main(&options),
        Verb::List(options) => list::main(&options),
        Verb::Check(options) => check::main(&options),
        Verb::Judge(options) => judge::main(&options),
        Verb::Adequacy(options) => adequacy::main(&options),
        Verb::Deviations => deviations::main(),
        Verb::Explain(options) => explain::main(&options),
        Verb::Provision(options) => provision::main(&options),
        Verb::Doctor(options) => doctor::main(&options),
        Verb::Matrix(options) => matrix::main(&options),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(refusal) => {
            // Nothing is left to be told when standard error is gone.
            writeln!(std::io::stderr(), "{refusal}").ok();
            refusal.exit.into()
        }
    }
}
