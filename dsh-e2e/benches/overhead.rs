//! What the harness adds to bare dsh: the same turns, rows, plugin and fake plumb, once through `run` and once started
//! by a plain loop, in interleaved pairs. Prints wall and processor time of both, and the ratio with its interval.
//!
//! `cargo bench -p dsh-e2e --bench overhead -- SCENARIO [PAIRS [RUNS]]`; the pinned build must be in the cache.

#![expect(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::too_many_lines,
    reason = "it prints what it measured; counts and seconds are small"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake_model::FakeModel;
use harness::agent::dsh::{Cache, Check, Network, Request, Surroundings, find, provision};
use harness::plan::{self, Paths, Subject, Vocabulary};
use harness::plumb::cli::Plumb;
use harness::plumb::dialect::Dialect;
use harness::stage::{Stage, Tapping, World, Wrapper};
use nix::sys::resource::{UsageWho, getrusage};

type Any = Box<dyn Error>;

/// One measurement.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    cpu: f64,
}

fn main() -> Result<(), Any> {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with("--"))
        .collect();
    let id = words.first().map_or("plumb/record", String::as_str);
    let pairs: usize = words.get(1).map_or(Ok(15), |word| word.parse())?;
    let runs: usize = words.get(2).map_or(Ok(4), |word| word.parse())?;
    let room = tempfile::Builder::new().prefix("ov-").tempdir()?;
    let mut ratios = Vec::new();
    let mut both = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let whole = through_the_harness(id, runs, &room.path().join(format!("h{pair}")))?;
        let bare = bare(id, runs, &room.path().join(format!("b{pair}")))?;
        ratios.push(whole.cpu / bare.cpu);
        both.0.push(whole);
        both.1.push(bare);
    }
    ratios.sort_by(f64::total_cmp);
    let middle = |costs: &[Cost], of: fn(&Cost) -> f64| {
        let mut values: Vec<f64> = costs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    // The order statistics that bound the median with 95 %, for a binomial with p = 1/2 (normal approximation).
    let spread = 0.98 * (ratios.len() as f64).sqrt();
    let half = ratios.len() as f64 / 2.0;
    let at = |position: f64| ratios[(position.max(0.0) as usize).min(ratios.len() - 1)];
    println!("{id}, {pairs} pairs of {runs} runs each, one at a time");
    println!(
        "through the harness: wall {:.2} s, processor {:.2} s",
        middle(&both.0, |cost| cost.wall),
        middle(&both.0, |cost| cost.cpu)
    );
    println!(
        "bare dsh:            wall {:.2} s, processor {:.2} s",
        middle(&both.1, |cost| cost.wall),
        middle(&both.1, |cost| cost.cpu)
    );
    println!(
        "processor ratio:     median {:.3}, 95 % interval {:.3} to {:.3}",
        at(half),
        at(half - spread),
        at(half + spread)
    );
    Ok(())
}

/// Processor time of all children that were waited for, in seconds.
fn children() -> Result<f64, Any> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds =
        |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

fn measured(work: impl FnOnce() -> Result<(), Any>) -> Result<Cost, Any> {
    let (begun, before) = (Instant::now(), children()?);
    work()?;
    Ok(Cost {
        wall: begun.elapsed().as_secs_f64(),
        cpu: children()? - before,
    })
}

fn through_the_harness(id: &str, runs: usize, at: &Path) -> Result<Cost, Any> {
    std::fs::create_dir_all(at)?;
    measured(|| {
        let status = Command::new(env!("CARGO_BIN_EXE_dsh-e2e"))
            .args([
                "run",
                "--controls",
                "none",
                "--offline",
                "--jobs",
                "1",
                "--only",
                id,
                "--repeat",
            ])
            .arg(runs.to_string())
            .arg("--out")
            .arg(at)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()?;
        if status.success() {
            Ok(())
        } else {
            Err(format!("the harness ended with {status}").into())
        }
    })
}

/// The same turns, started by a plain loop.
fn bare(id: &str, runs: usize, at: &Path) -> Result<Cost, Any> {
    let build = find("0.2.1")?;
    let surroundings = Surroundings::of_this_machine(std::env::vars_os().collect());
    let cache = Cache::of_the_account(&surroundings)?;
    let request = Request {
        build: &build,
        cache: &cache,
        surroundings: &surroundings,
        network: Network::Offline,
        check: Check::Quick,
    };
    let installed = provision(&request, &mut |_| ())?;
    let entries = harness::library::scenarios(None)?;
    let entry = entries
        .iter()
        .find(|entry| entry.scenario.id == id)
        .ok_or("no such scenario")?;
    let subject = Subject {
        build: "0.2.1".into(),
        revision: build.facts.revision.to_string(),
    };
    let run = plan::again(&entry.scenario, &subject, None, None).ok_or("no plain form")?;
    let tools = build.file("tools.toml").ok_or("no words")?;
    let vocabulary = Vocabulary::read("0.2.1", &String::from_utf8_lossy(tools))?;
    let plugins = harness::library::lay_out_plugins(&at.join("js"))?;
    let identity = plugins.join("identity");
    let runtime = tokio::runtime::Runtime::new()?;
    let model = runtime.block_on(FakeModel::start())?;
    let program = PathBuf::from(env!("CARGO_BIN_EXE_dsh-e2e"));
    measured(|| {
        let mut daemon = run.needs_plumb().then(|| plumb(at, &program)).transpose()?;
        for time in 0..runs {
            let mut world = World {
                program: &program,
                build: &build,
                installed: &installed,
                plugins: &plugins,
                identity: &identity,
                models: BTreeMap::new(),
            };
            let stage = Stage::set(&at.join(format!("s{time}")), &run, &world)?;
            if let Some((plumb, _)) = &daemon {
                let wrapper = Wrapper {
                    plumb: &plumb.program,
                    account: &plumb.account,
                    token: None,
                    tap: Tapping::Off,
                };
                stage.write_wrapper(&wrapper, &world)?;
            }
            let place = |place: &harness::scenario::Place| stage.folder(place);
            let scripts = plan::compile(
                &run,
                &vocabulary,
                &Paths {
                    bin: &stage.bin,
                    place: &place,
                },
            );
            let script = scripts.models.get("main").ok_or("no script")?;
            let tenant = runtime.block_on(async { model.tenant(&format!("t{time}"), script) })?;
            world.models.insert("main".into(), tenant.base_url());
            let start = stage.launch(&run, "main", &world)?;
            let status = Command::new(&start.argv[0])
                .args(&start.argv[1..])
                .env_clear()
                .envs(&start.env)
                .current_dir(&start.cwd)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()?;
            if !status.success() {
                return Err(format!("bare dsh ended with {status}").into());
            }
        }
        if let Some((_, daemon)) = &mut daemon {
            daemon.kill()?;
            daemon.wait()?;
        }
        Ok(())
    })
}

/// A fake plumb's daemon under a private account.
fn plumb(at: &Path, program: &Path) -> Result<(Plumb, Child), Any> {
    let home = at.join("home");
    std::fs::create_dir_all(&home)?;
    let link = at.join("fake-plumb");
    std::os::unix::fs::symlink(program, &link)?;
    let account: BTreeMap<String, String> = ["HOME", "FAKE_PLUMB_ACCOUNT_HOME"]
        .map(|key| (key.to_owned(), home.display().to_string()))
        .into();
    let plumb = Plumb {
        program: link.clone(),
        account: account.clone(),
    };
    plumb.succeed(&["service", "install"])?;
    let service = plumb.service(&Dialect::default())?;
    let daemon = Command::new(&link)
        .arg("daemon")
        .env_clear()
        .envs(&account)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + Duration::from_secs(10);
    while !service.socket.exists() {
        if Instant::now() > deadline {
            return Err("the daemon's socket never came".into());
        }
        std::thread::yield_now();
    }
    Ok((plumb, daemon))
}
