-- From here on what holds secrets is sealed: grants.args, workflows.body and actions.body. The program seals what is there in the same
-- transaction (package sealed); older programs could not read it, and refuse the newer schema.
-- What a confirmation was asked for is forgotten once it has ended (states: 2 spent, 3 denied, 4 canceled, 5 burnt).
UPDATE grants SET args = NULL WHERE state >= 2;
