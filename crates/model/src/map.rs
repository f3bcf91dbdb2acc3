//! What the control plane decides and bricks learn late: groups, changes under way, lives.

use crate::state::{BRICKS, Replica};
use crate::{Rule, Rules};

/// What a brick is to the partition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// Nothing.
    #[default]
    None,
    /// Orders the operations.
    Primary,
    /// In sync.
    Backup,
    /// Catching up.
    Learner,
}

impl Role {
    /// Nothing is acknowledged that it lacks.
    #[must_use]
    pub const fn is_in_sync(self) -> bool {
        matches!(self, Self::Primary | Self::Backup)
    }
}

/// One brick's place in a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place {
    /// Its role.
    pub role: Role,
    /// The life that has it.
    pub life: u8,
}

/// A view: its number and its members, by brick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Group {
    /// The number.
    pub view: u8,
    /// The members.
    pub places: [Place; BRICKS],
}

/// A view that was proposed after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    /// The view to be.
    pub group: Group,
    /// The lives that have to stop before; 0: nobody's.
    pub fenced: [u8; BRICKS],
    /// The version of the map that first had it.
    pub version: u8,
}

/// One version of the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Map {
    /// The last effective view.
    pub group: Group,
    /// The change under way.
    pub change: Option<Change>,
}

/// The control plane, its agreement taken for granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Plane {
    /// All versions; those that everybody has adopted are forgotten.
    pub maps: Vec<Map>,
    /// The present life of each brick.
    pub lives: [u8; BRICKS],
    /// The view whose primary has said that it accepts; 0: none that is under way.
    pub accepted: u8,
    /// A primary asks for a promotion: its view, and who.
    pub ask: Option<(u8, Replica)>,
    /// A new leader believes that nobody has a lease (only without rule `a proposed view only stops`).
    pub fears_nobody: bool,
    /// What was in memory is declared lost.
    pub is_lost: bool,
}

impl Group {
    /// The brick's role in that life.
    #[must_use]
    pub fn role_of(&self, replica: Replica, rules: Rules) -> Role {
        let place = self.places[replica.at()];
        // Rule `members name an incarnation`: views name lives.
        if place.life == replica.life || rules.lack(Rule::ViewsNameLives) {
            place.role
        } else {
            Role::None
        }
    }

    /// All members, with their roles.
    pub fn members(&self) -> impl Iterator<Item = (Replica, Role)> + '_ {
        let all = self.places.iter().enumerate();
        let all = all.filter(|(_, place)| place.role != Role::None);
        all.map(|(at, place)| (Replica::new(at, place.life), place.role))
    }

    /// The members in sync.
    pub fn in_sync(&self) -> impl Iterator<Item = Replica> + '_ {
        let members = self.members().filter(|(_, role)| role.is_in_sync());
        members.map(|(replica, _)| replica)
    }

    /// The primary.
    #[must_use]
    pub fn primary(&self) -> Option<Replica> {
        let mut members = self.members();
        members
            .find(|(_, role)| *role == Role::Primary)
            .map(|(replica, _)| replica)
    }
}

impl Map {
    /// Whom a change to `next` has to stop.
    #[must_use]
    pub fn fenced_by(&self, next: &Group, rules: Rules) -> [u8; BRICKS] {
        let mut fenced = [0; BRICKS];
        let mut fence = |replica: Replica| {
            if !next.role_of(replica, rules).is_in_sync() {
                fenced[replica.at()] = replica.life;
            }
        };
        match &self.change {
            // Rule `removed members are fenced`: not only those of the view that was proposed last.
            Some(change) if rules.lack(Rule::AllAreFenced) => {
                change.group.in_sync().for_each(fence)
            }
            Some(change) => {
                let before = change.fenced.iter().enumerate();
                for (at, life) in before.filter(|(_, life)| **life > 0) {
                    fence(Replica::new(at, *life));
                }
                change.group.in_sync().for_each(&mut fence);
                self.group.in_sync().for_each(&mut fence);
            }
            None => self.group.in_sync().for_each(fence),
        }
        fenced
    }

    /// The number of the next view.
    #[must_use]
    pub fn next_view(&self) -> u8 {
        let pending = self.change.map_or(0, |change| change.group.view);
        self.group.view.max(pending) + 1
    }
}

impl Plane {
    /// The newest version.
    #[must_use]
    pub fn version(&self) -> u8 {
        (self.maps.len() - 1) as u8
    }

    /// What it says.
    #[must_use]
    pub fn map(&self) -> Map {
        self.maps.last().copied().unwrap_or_default()
    }

    /// Whether that is the brick's present life.
    #[must_use]
    pub fn is_current(&self, replica: Replica) -> bool {
        self.lives[replica.at()] == replica.life
    }

    /// A newer version.
    pub fn decide(&mut self, map: Map) {
        self.maps.push(map);
    }
}
