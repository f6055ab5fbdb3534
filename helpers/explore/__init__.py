"""Explorers: controls, the data that they ask for, and its picture. What is counted and drawn lives below."""
