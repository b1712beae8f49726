"""What a kernel is: facts about its body, and the pieces that build and rewrite one."""
