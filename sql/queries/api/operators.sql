SELECT name FROM operators;
