//! Is a private daemon gone? What was seen under its home, and how long nothing may be seen there. Pure; time and
//! looks are given.
//!
//! Called after a daemon of daemon isolation was stopped. `ps` only vetoes: a sandbox that denies it cannot hide a
//! daemon. What cannot be shown counts as still there, and the home is then kept.

use std::path::PathBuf;
use std::time::Duration;

/// How long nothing may listen after the stop (seed, "Isolation"): a serve that redials starts a daemon within 10 s
/// (facts, section 1), and is given three times that.
pub const QUIET: Duration = Duration::from_secs(30);

/// How often it is looked (seed, "Isolation").
pub const EVERY: Duration = Duration::from_millis(250);

/// One look under the private home.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Look {
    /// plumb sockets that somebody listens on.
    pub listening: Vec<PathBuf>,
    /// Every pidfile.
    pub pidfiles: Vec<Pidfile>,
    /// What could not be looked at.
    pub unseen: Vec<String>,
}

/// One pidfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pidfile {
    /// Where it lies.
    pub path: PathBuf,
    /// What it says.
    pub names: Names,
}

/// What a pidfile names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// It cannot be read, or is no PID.
    Unreadable(String),
    /// A process that does not live.
    Dead(u32),
    /// One that lives.
    Live(u32, Ps),
}

/// What `ps` says of a live process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ps {
    /// It is a daemon of this plumb.
    Daemon,
    /// It is something else: its command line.
    Else(String),
    /// It does not answer.
    Silent(String),
}

/// Why a daemon is not shown gone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{after:?} after the stop: {what}")]
pub struct StillThere {
    /// When.
    pub after: Duration,
    /// What was seen.
    pub what: String,
}

/// What of a look speaks against the daemon being gone.
pub fn objection(look: &Look) -> Option<String> {
    if let Some(socket) = look.listening.first() {
        return Some(format!("somebody listens on {}", socket.display()));
    }
    if let Some(unseen) = look.unseen.first() {
        return Some(unseen.clone());
    }
    look.pidfiles.iter().find_map(|pidfile| {
        let path = pidfile.path.display();
        match &pidfile.names {
            Names::Dead(_) | Names::Live(_, Ps::Else(_)) => None,
            Names::Unreadable(why) => Some(format!("{path} cannot be read: {why}")),
            Names::Live(pid, Ps::Daemon) => {
                Some(format!("{path} names PID {pid}, a daemon that lives"))
            }
            Names::Live(pid, Ps::Silent(why)) => Some(format!(
                "{path} names PID {pid}, which lives, and ps does not say what it is: {why}"
            )),
        }
    })
}

/// Looks for the whole of [`QUIET`]; the first objection ends it. `pause` lets the time until the next look pass.
pub async fn shown<P: Future<Output = ()>>(
    mut look: impl FnMut() -> Look,
    mut pause: impl FnMut(Duration) -> P,
) -> Result<(), StillThere> {
    let mut after = Duration::ZERO;
    loop {
        if let Some(what) = objection(&look()) {
            return Err(StillThere { after, what });
        }
        if after >= QUIET {
            return Ok(());
        }
        pause(EVERY).await;
        after += EVERY;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;
    use std::time::Duration;

    use super::{Look, Names, Pidfile, Ps, objection, shown};

    fn pidfile(names: Names) -> Look {
        Look {
            pidfiles: vec![Pidfile {
                path: "/h/plumb.pid".into(),
                names,
            }],
            ..Look::default()
        }
    }

    #[track_caller]
    fn check(look: &Look, expected: Option<&str>) {
        assert_eq!(objection(look).as_deref(), expected);
    }

    #[test]
    fn whatever_is_not_shown_gone_is_still_there() {
        check(&Look::default(), None);
        check(&pidfile(Names::Dead(7)), None);
        check(&pidfile(Names::Live(7, Ps::Else("vi notes".into()))), None);
        check(
            &pidfile(Names::Live(7, Ps::Daemon)),
            Some("/h/plumb.pid names PID 7, a daemon that lives"),
        );
        check(
            &pidfile(Names::Live(7, Ps::Silent("denied".into()))),
            Some("/h/plumb.pid names PID 7, which lives, and ps does not say what it is: denied"),
        );
        check(
            &pidfile(Names::Unreadable("denied".into())),
            Some("/h/plumb.pid cannot be read: denied"),
        );
        let listening = Look {
            listening: vec!["/h/plumb.sock".into()],
            ..pidfile(Names::Dead(7))
        };
        check(&listening, Some("somebody listens on /h/plumb.sock"));
        check(
            &Look {
                unseen: vec!["/h: denied".into()],
                ..Look::default()
            },
            Some("/h: denied"),
        );
    }

    /// Watches a home where somebody listens at look number `at`; gives the answer, the looks and the time.
    async fn watched(at: u32) -> (String, u32, Duration) {
        let (looks, passed) = (Cell::new(0), Cell::new(Duration::ZERO));
        let look = || {
            looks.set(looks.get() + 1);
            let heard = (looks.get() == at).then(|| "/h/plumb.sock".into());
            Look {
                listening: heard.into_iter().collect(),
                ..Look::default()
            }
        };
        let pause = |time| {
            passed.set(passed.get() + time);
            ready(())
        };
        let said = shown(look, pause)
            .await
            .map_or_else(|it| it.to_string(), |()| "gone".to_owned());
        (said, looks.get(), passed.get())
    }

    #[tokio::test]
    async fn nothing_may_listen_for_thirty_seconds_looked_at_every_quarter_of_one() {
        assert_eq!(
            watched(0).await,
            ("gone".into(), 121, Duration::from_secs(30))
        );
        let late = "30s after the stop: somebody listens on /h/plumb.sock";
        assert_eq!(
            watched(121).await,
            (late.into(), 121, Duration::from_secs(30))
        );
        let early = "250ms after the stop: somebody listens on /h/plumb.sock";
        assert_eq!(
            watched(2).await,
            (early.into(), 2, Duration::from_millis(250))
        );
    }
}
