"""Where is a result wrong? The picture that comes with a wrong answer: every element of C, right, wrong or not
written."""
