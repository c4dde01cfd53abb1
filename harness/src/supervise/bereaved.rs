//! A supervisor that died: what it leaves to be done once its processes are gone.
//!
//! Called by the warden. A namespace is released by a fresh supervisor under the same name, so that there is one place
//! that releases; it must never be released while a process of the dead one may still use it.

use super::{
    namespace::Held,
    notice::{Ended, Notice, Release, Usage},
    process::Seen,
    ward::Ward,
    wire::{FromSupervisor, FromWarden, Last, News, write_line},
};

/// What a dead supervisor left.
#[derive(Debug)]
pub(crate) struct Bereaved {
    pub(crate) name: String,
    last: Last,
    held: Vec<Held>,
    /// Whether it said its last word before it left something behind.
    has_ended: bool,
    /// Whether a create was ordered and never answered.
    is_unanswered: bool,
}

impl Bereaved {
    /// Keeps of a dead supervisor what is still needed.
    pub(crate) fn of(name: String, ward: Ward) -> Self {
        let is_unanswered = ward.is_unanswered();
        let Ward {
            last,
            held,
            has_ended,
            ..
        } = ward;
        Self {
            name,
            last,
            held,
            has_ended,
            is_unanswered,
        }
    }

    /// Says the last word for it; gives the supervisor that will say it instead when there is something to release.
    pub(crate) fn lay_to_rest(self, left: &[Seen]) -> Option<(String, Ward)> {
        if self.has_ended {
            self.tell(News::Closed);
            return None;
        }
        if self.is_unanswered {
            let what = "the supervisor died while it created a namespace; if there is one, its ttl or its owner's \
                        death ends it";
            self.say(Notice::NamespaceFailed {
                what: what.into(),
                exit: None,
                said: String::new(),
            });
        }
        let namespaces = match self.undertaker() {
            Ok(None) => Vec::new(),
            Ok(Some(mut ward)) => {
                ward.left = left.to_vec();
                for held in self.held {
                    ward.adopt(held);
                }
                ward.close();
                return Some((self.name, ward));
            }
            Err(error) => {
                let detail = format!("not released: start a supervisor for it: {error}");
                let unreleased = |held: &Held| Release {
                    id: held.id.clone(),
                    revoked: false,
                    detail: detail.clone(),
                };
                self.held.iter().map(unreleased).collect()
            }
        };
        let usage = Usage {
            user_us: 0,
            sys_us: 0,
            max_rss_kb: 0,
        };
        let ended = Ended {
            empty: left.is_empty(),
            left: left.to_vec(),
            orphans: 0,
            usage,
            namespaces,
        };
        self.say(Notice::Ended(ended));
        self.tell(News::Closed);
        None
    }

    fn undertaker(&self) -> std::io::Result<Option<Ward>> {
        if self.held.is_empty() {
            Ok(None)
        } else {
            Ward::start(self.last).map(Some)
        }
    }

    fn say(&self, notice: Notice) {
        self.tell(News::Said(FromSupervisor::now(notice)));
    }

    fn tell(&self, news: News) {
        write_line(&FromWarden {
            name: self.name.clone(),
            news,
        });
    }
}
