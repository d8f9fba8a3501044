# Vivado's Tcl, as far as packages use it: every command and its arguments are written to $STUB_LOG,
# and what Vivado would refuse is an error. Nothing is synthesised.
# tclsh vivado_stub.tcl [-mode batch] [-notrace] [-nojournal] [-log FILE] -source FILE [-tclargs ...]

set ::stub_objects {}      ;# name -> kind, of everything that was made
set ::stub_properties {
    CONFIG.* STEPS.SYNTH_DESIGN.ARGS.FLATTEN_HIERARCHY STRATEGY target_language top
    STEPS.POST_ROUTE_PHYS_OPT_DESIGN.IS_ENABLED USED_IN_SYNTHESIS PROCESSING_ORDER
    PACKAGE_PIN IOSTANDARD PULLUP CONFIG_VOLTAGE CONFIG_MODE BITSTREAM.GENERAL.COMPRESS
    BITSTREAM.CONFIG.SPI_BUSWIDTH BITSTREAM.CONFIG.SPI_32BIT_ADDR BITSTREAM.CONFIG.CONFIGRATE
    BITSTREAM.CONFIG.EXTMASTERCCLK_EN BITSTREAM.CONFIG.UNUSEDPIN
    BITSTREAM.CONFIG.OVERTEMPSHUTDOWN IS_SOFT
}

proc record {name arguments} {
    set handle [open $::env(STUB_LOG) a]
    puts $handle [list $name {*}$arguments]
    close $handle
}

# Options and the rest of a command's arguments; an option that is not known is an error.
proc parse {name arguments flags valued} {
    record $name $arguments
    set options {}
    set rest {}
    for {set k 0} {$k < [llength $arguments]} {incr k} {
        set word [lindex $arguments $k]
        if {$word in $flags} {
            dict set options $word 1
        } elseif {$word in $valued} {
            if {[incr k] >= [llength $arguments]} { error "$name: $word has no value" }
            dict set options $word [lindex $arguments $k]
        } elseif {[regexp {^-[a-z_]+$} $word]} {
            error "$name has no option $word"
        } else {
            lappend rest $word
        }
    }
    return [list $options $rest]
}

proc made {kind name} { dict set ::stub_objects "$kind $name" 1 }
proc need {kind name} {
    if {![dict exists $::stub_objects "$kind $name"]} { error "there is no $kind $name" }
    return $name
}
proc need_file {path} {
    if {![file exists $path]} { error "there is no file $path" }
    return $path
}

# The project, kept in its .xpr between calls.
proc create_project {args} {
    lassign [parse create_project $args {-force} {-part}] options rest
    lassign $rest name folder
    if {[dict get $options -part] ne "xcu280-fsvh2892-2L-e"} { error "unknown part" }
    file mkdir $folder
    set ::stub_project [file join $folder $name.xpr]
    foreach {kind object} {project {} fileset sources_1 fileset constrs_1 run synth_1 run impl_1} {
        made $kind $object
    }
}
proc open_project {path} {
    record open_project [list $path]
    set handle [open [need_file $path]]
    set ::stub_objects [read $handle]
    close $handle
    set ::stub_project $path
}
proc save_project {} {
    if {[info exists ::stub_project]} {
        set handle [open $::stub_project w]
        puts $handle $::stub_objects
        close $handle
    }
}
proc close_project {} { record close_project {}; save_project }
proc current_project {} { need project {} }
proc get_filesets {name} { need fileset $name }
proc get_runs {name} { need run $name }
proc get_ips {name} { need ip $name }
proc get_files {paths} {
    if {[llength $paths] != 1} { error "not one file: $paths" }
    need file [lindex $paths 0]
}

proc add_files {args} {
    lassign [parse add_files $args {-norecurse} {-fileset}] options rest
    need fileset [dict get $options -fileset]
    foreach path [lindex $rest 0] { made file [need_file $path] }
}
proc create_ip {args} {
    lassign [parse create_ip $args {} {-vlnv -module_name}] options rest
    set name [dict get $options -module_name]
    if {[llength [split [dict get $options -vlnv] :]] != 4} { error "vlnv of $name" }
    if {[dict exists $::stub_objects "ip $name"]} { error "IP $name is there already" }
    if {$name ni $::env(STUB_MODULES)} { error "nothing instantiates $name" }
    made ip $name
}
proc generate_target {what name} { record generate_target [list $what $name]; need ip $name }
proc update_compile_order {args} { parse update_compile_order $args {} {-fileset} }

proc set_property {args} {
    lassign [parse set_property $args {} {-dict}] options rest
    if {[dict exists $options -dict]} {
        set pairs [dict get $options -dict]
        set objects $rest
    } else {
        set pairs [lrange $rest 0 1]
        set objects [lrange $rest 2 end]
    }
    if {![llength $pairs] || [llength $pairs] % 2} { error "set_property: $args" }
    if {[llength $objects] != 1} { error "set_property on no object: $args" }
    foreach {name value} $pairs {
        set known 0
        foreach pattern $::stub_properties { if {[string match $pattern $name]} { set known 1 } }
        if {!$known} { error "there is no property $name" }
    }
}
proc get_property {name object} {
    record get_property [list $name $object]
    switch -- $name {
        PROGRESS { return [expr {[dict exists $::stub_objects "done $object"] ? "100%" : "0%"}] }
        STATUS { return "stub" }
        SLACK { return $::env(STUB_SLACK) }
        PERIOD { return 4.0 }
        default { error "there is no property $name to read" }
    }
}

# Runs and reports.
proc reset_run {name} { record reset_run [list $name]; need run $name }
proc launch_runs {args} {
    lassign [parse launch_runs $args {} {-jobs -to_step}] options rest
    made launched [need run [lindex $rest 0]]
}
proc wait_on_run {name} {
    record wait_on_run [list $name]
    need launched $name
    if {$name ne $::env(STUB_FAILING_RUN)} { made done $name }
    if {$name eq "impl_1"} { need done synth_1 }
}
proc open_run {name} {
    record open_run [list $name]
    need done $name
    made design open
    foreach object [dict keys $::stub_objects {file *.xdc}] {
        uplevel #0 [list source [string range $object 5 end]]
    }
}
proc get_timing_paths {args} {
    parse get_timing_paths $args {} {-delay_type -max_paths}
    return [list path]
}
foreach report {utilization timing_summary cdc methodology} {
    proc report_$report {args} [string map [list REPORT report_$report] {
        set flags {-hierarchical -details}
        lassign [parse REPORT $args $flags {-file -max_paths}] options rest
        need design open
        write_text [dict get $options -file] "REPORT\n"
    }]
}
proc write_bitstream {args} {
    lassign [parse write_bitstream $args {-force} {}] options rest
    need design open
    write_text [lindex $rest 0] "bitstream\n"
}
proc write_text {path text} {
    set handle [open $path w]
    puts -nonewline $handle $text
    close $handle
}

# Constraints: names are returned as they are asked for; the package's checker resolves them.
foreach query {get_ports get_cells get_pins get_clocks get_nets} {
    proc $query {args} [string map [list QUERY $query] {
        set flags {-hierarchical -quiet -include_generated_clocks}
        lassign [parse QUERY $args $flags {-of_objects -filter}] options rest
        if {[dict exists $options -of_objects]} { return [list of [dict get $options -of_objects]] }
        return [concat {*}$rest]
    }]
}
proc current_design {} { return design }
proc get_pblocks {name} { need pblock $name }
proc create_pblock {name} { record create_pblock [list $name]; made pblock $name; return $name }
proc resize_pblock {args} { parse resize_pblock $args {} {-add}; need pblock [lindex $args 0] }
proc add_cells_to_pblock {args} { record add_cells_to_pblock $args; need pblock [lindex $args 0] }
proc create_clock {args} {
    lassign [parse create_clock $args {} {-name -period -waveform}] options rest
    if {[dict get $options -period] <= 0 || [llength $rest] != 1} { error "create_clock $args" }
}
foreach {name valued} {
    set_false_path {-from -to -through}
    set_max_delay {-from -to -through}
    set_bus_skew {-from -to}
    set_clock_groups {-group -name}
    set_multicycle_path {-from -to}
    set_input_delay {-clock}
    set_output_delay {-clock}
} {
    proc $name {args} [list parse_exception $name $valued]
}
proc parse_exception {name valued} {
    upvar args args
    set flags {-datapath_only -asynchronous -setup -hold}
    lassign [parse $name $args $flags $valued] options rest
    foreach {option value} $options {
        if {$option in $valued && $value eq ""} { error "$name: $option finds nothing" }
    }
}

set script ""
for {set k 0} {$k < [llength $argv]} {incr k} {
    switch -- [lindex $argv $k] {
        -mode - -log { incr k }
        -source { set script [lindex $argv [incr k]] }
        -tclargs { set arguments [lrange $argv $k+1 end]; break }
        -notrace - -nojournal {}
        default { puts stderr "vivado: what is [lindex $argv $k]"; exit 1 }
    }
}
set argv [expr {[info exists arguments] ? $arguments : {}}]
unset k
if {[catch {uplevel #0 [list source $script]; save_project} message]} {
    puts stderr "ERROR: $message"
    exit 1
}
