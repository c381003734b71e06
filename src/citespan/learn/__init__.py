"""Learning: from recorded runs to a policy that a person reviews (design section 7, `suggest`)."""

from citespan.learn.collect import Collector, Seen
from citespan.learn.learner import Learner
from citespan.learn.profiles import PROFILES, Profile, ProfileName
from citespan.learn.render import render
from citespan.learn.tasks import Tasks

__all__ = ["PROFILES", "Collector", "Learner", "Profile", "ProfileName", "Seen", "Tasks", "render"]
