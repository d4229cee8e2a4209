"""The commands of `neverlost`."""

COMMANDS = {
    "check": "Explore one configuration and decide its properties.",
    "tolerance": "What a configuration survives, whatever the number of faults.",
    "roll": "Which brokers may be stopped now, and in which order; or what a plan of changes risks.",
    "rescue": "A partition is offline: whom to elect, for whom to wait, and which offsets are lost at least and at most.",
    "nines": "A bound of the yearly probability of loss, from what is decided and from rates.",
    "state": "One state of a partition as a figure shows it: what is committed, readable, electable, and what one fault loses.",
    "explore": "Enumerate the reachable states of a model; checks nothing, prints counts.",
    "export": "Write a bound model as a TLA+ module, to be checked by TLC.",
    "sweep": "A verdict per cell of a configuration matrix.",
    "prove": "Decide with Z3: bounded search, or induction.",
    "scenarios": "Run the scenario corpus against its expected verdicts.",
    "claims": "Check the documentation claims.",
    "necessity": "Switch off each guard clause and each mechanism in turn.",
    "replay": "Re-execute a counterexample on the defining interpreter.",
    "reproduce": "Try a counterexample on a real Kafka cluster, started for it on this machine.",
    "observe": "Hold what was seen of a real partition against the model.",
    "conform": "Hold the model's transitions against Kafka's own classes.",
    "verify": "Derive an evidence bundle from its question again, and compare everything.",
    "report": "Render report.md and a self-contained report.html from an --out directory.",
    "models": "List the models, the keys that each reads and what it guarantees.",
    "matrices": "List the shipped configuration matrices, for neverlost sweep.",
    "properties": "List the properties and the models that break them.",
    "explain": "What a key, fault, property, mechanism or verdict means; without a word, all of them.",
}
"""What each command does; it is the function of its name, in the file of its name."""
