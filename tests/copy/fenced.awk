# SPDX-License-Identifier: MIT
# Reads `objdump -d` and follows every path from a non-temporal store: each must meet an sfence
# before it leaves the function. Prints how many stores were followed; fails if one gets away.

/^[0-9a-f]+ <.*>:$/ { entry[last + 1] = 1; next }
/^ +[0-9a-f]+:\t/ {
    last++
    at = $1
    sub(/:$/, "", at)
    number[at] = last
    name[last] = $2
    target[last] = $3
}

function follow(from,    i, next_one, depth, stack) {
    split("", visited)
    stack[depth = 1] = from + 1
    while (depth > 0) {
        i = stack[depth--]
        if (i in visited)
            continue
        visited[i] = 1
        if (i > last || i in entry || name[i] ~ /^ret/)
            return 0
        if (name[i] == "sfence")
            continue
        if (name[i] ~ /^j/) {
            if (!(target[i] in number))
                return 0 # a tail call, or a jump through memory
            stack[++depth] = number[target[i]]
            if (name[i] == "jmp")
                continue
        }
        stack[++depth] = i + 1
    }
    return 1
}

END {
    for (i = 1; i <= last; i++) {
        if (name[i] !~ /^v?movnt/)
            continue
        stores++
        if (!follow(i)) {
            print "instruction " i " (" name[i] "): a path leaves without sfence" > "/dev/stderr"
            exit 1
        }
    }
    if (!stores) {
        print "no non-temporal store was found" > "/dev/stderr"
        exit 1
    }
    print stores " non-temporal stores, every path fenced"
}
